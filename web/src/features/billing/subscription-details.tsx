import { useQuery } from '@tanstack/react-query';
import { Descriptions, type DescriptionsProps, Flex, Skeleton, Typography } from 'antd';
import type { Subscription } from '@/api/types';
import { useUser } from '@/app/queries';
import { formatMoney } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { dateText, monthText } from '@/lib/format';
import { BalanceText } from './balance-text';
import { eventDate } from './event-date';
import { methodText } from './invoice-text';
import { balancePart } from './next-text';
import styles from './pages.module.css';
import { priceText, productName } from './price-text';
import { balanceQuery, overdraftQuery } from './queries';
import { isPaidByAccount } from './subscription-rules';
import { type Texts, useTexts } from './texts';

interface DetailsProps {
  subscription: Subscription;
  /** For administrators, not for the customer. */
  forStore?: boolean;
}

/** Plan, period, next invoice, payment method with its limit, balance of the paying account, deposit. */
export function SubscriptionDetails({ subscription, forStore = false }: DetailsProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const user = useUser();
  const { paymentCurrency: currency, next_invoice: next, staking, mandate } = subscription;
  const money = (amount: string) => formatMoney(amount, currency, language);
  const day = (at: number) => eventDate(at, subscription, language);
  const isCanceled = subscription.status === 'canceled';
  const periodEnd = (isCanceled ? subscription.ended_at : null) ?? subscription.current_period_end;
  const items: DescriptionsProps['items'] = [
    {
      key: 'plan',
      label: t('facts.items'),
      children: (
        <Flex vertical flex={1}>
          {subscription.items.map(({ id, price, quantity }) => (
            <Flex key={id} justify="space-between" gap={16} wrap>
              <span>
                {productName(price, texts)}
                {quantity > 1 ? <Typography.Text type="secondary"> × {quantity}</Typography.Text> : null}
              </span>
              <span className="money">{priceText(price, currency, texts, quantity)}</span>
            </Flex>
          ))}
        </Flex>
      ),
    },
    {
      key: 'period',
      label: t(isCanceled ? 'facts.lastPeriod' : 'facts.period'),
      children: `${day(subscription.current_period_start)} – ${day(periodEnd)}`,
    },
    {
      key: 'next',
      label: t('facts.next'),
      children: next ? (
        <Flex vertical>
          {t('facts.nextOn', { amount: money(next.total), date: day(next.at) })}
          {balancePart(next) > 0n ? (
            <Typography.Text type="secondary">
              {next.amount === '0'
                ? t('facts.nextByBalance')
                : t('facts.nextFromBalance', { balance: money(balancePart(next).toString()) })}
            </Typography.Text>
          ) : null}
        </Flex>
      ) : (
        t('facts.noNext')
      ),
    },
    {
      key: 'method',
      label: t('facts.method'),
      children: (
        <Flex vertical>
          {mandateText(subscription, texts)}
          {mandate?.exp_year && mandate.exp_month ? (
            <Typography.Text type="secondary">
              {t('facts.goodUntil', { month: monthText(mandate.exp_year, mandate.exp_month, language) })}
            </Typography.Text>
          ) : null}
          {mandate?.limit && subscription.status !== 'canceled' ? (
            <Typography.Text type="secondary">{t('facts.limit', { amount: money(mandate.limit) })}</Typography.Text>
          ) : null}
        </Flex>
      ),
    },
  ];
  // The holder of an email link does not see the balance.
  if (isPaidByAccount(subscription) && user)
    items.push({ key: 'account', label: t('facts.account'), children: <Account subscription={subscription} /> });
  if (staking)
    items.push({
      key: 'deposit',
      label: t('facts.stake'),
      children: (
        <Flex vertical>
          <span className="money">{money(staking.amount)}</span>
          <Deposit subscription={subscription} forStore={forStore} />
        </Flex>
      ),
    });
  if (subscription.overdraft_stake_id && isPaidByAccount(subscription) && user)
    items.push({
      key: 'overdraft',
      label: t('facts.overdraftStake'),
      children: <OverdraftDeposit subscription={subscription} />,
    });
  return <Descriptions className={styles.details} layout="vertical" colon={false} column={1} items={items} />;
}

/** The balance of the paying account. Its space is reserved until the network responds. */
function Account({ subscription }: { subscription: Subscription }) {
  const { t } = useTexts();
  const { data, isPending } = useQuery(balanceQuery(subscription));
  if (data) return <BalanceText subscription={subscription} balance={data} />;
  return (
    <div aria-busy={isPending || undefined} className={styles.balance}>
      {isPending ? (
        <>
          <span className="sr-only">{t('state.loading')}</span>
          <Skeleton title={false} paragraph={{ rows: 2, width: ['40%', '80%'] }} />
        </>
      ) : (
        <Typography.Text type="secondary">{t('facts.accountUnknown')}</Typography.Text>
      )}
    </div>
  );
}

/** The amount that the overdraft protection holds. Its line is reserved until it is known. */
function OverdraftDeposit({ subscription }: { subscription: Subscription }) {
  const { t, language } = useTexts();
  const { data, isPending } = useQuery(overdraftQuery(subscription.id));
  if (data) return <span className="money">{formatMoney(data.available, subscription.paymentCurrency, language)}</span>;
  return (
    <Typography.Text type="secondary" aria-busy={isPending || undefined}>
      {t(isPending ? 'state.loading' : 'facts.overdraftStakeUnknown')}
    </Typography.Text>
  );
}

/** The status of the deposit, and its transaction. */
function Deposit({ subscription, forStore }: { subscription: Subscription; forStore: boolean }) {
  const { t, language } = useTexts();
  const { staking, paymentMethod } = subscription;
  if (!staking) return null;
  const link = staking.tx_hash
    ? transactionLink(paymentMethod, { arcblock: { tx_hash: staking.tx_hash, type: 'stake' } })
    : null;
  return (
    <>
      <Typography.Text type="secondary">
        {t(`${forStore ? 'facts.stakeOf' : 'facts.stake'}.${staking.status}`, {
          date: staking.return_at ? dateText(staking.return_at * 1000, language) : '',
        })}
      </Typography.Text>
      {link ? (
        <a href={link.url} target="_blank" rel="noopener noreferrer">
          {t('portal.payment.transaction')}
          <span className="sr-only"> {t('a11y.newTab')}</span>
        </a>
      ) : null}
    </>
  );
}

const BRANDS: Record<string, string> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'American Express',
  unionpay: 'UnionPay',
  discover: 'Discover',
  jcb: 'JCB',
  diners: 'Diners Club',
};

/** "Visa •••• 4242", or the kind of the wallet. */
export function mandateText(
  { mandate, paymentMethod }: Pick<Subscription, 'mandate' | 'paymentMethod'>,
  { t }: Pick<Texts, 't'>,
): string {
  if (mandate?.type !== 'card' || !mandate.last4) return methodText(paymentMethod, { t });
  const brand = mandate.brand ? (BRANDS[mandate.brand.toLowerCase()] ?? mandate.brand) : t('portal.method.stripe');
  return `${brand} •••• ${mandate.last4}`;
}
