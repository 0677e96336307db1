import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Subscription } from '@/api/types';
import { useUser } from '@/app/queries';
import { formatMoney } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { dayText, monthText } from '@/lib/format';
import { FundsText } from './funds-text';
import { methodText } from './invoice-text';
import { priceText, productName } from './price-text';
import { fundsQuery } from './queries';
import styles from './subscription-facts.module.css';
import { isPaidByAccount } from './subscription-rules';
import { type Texts, useTexts } from './texts';

interface FactsProps {
  subscription: Subscription;
  /** Somebody else's: whoever reads it runs the store. */
  forStore?: boolean;
}

/** Plan, next invoice, how it is paid and up to what, and the stake behind it. */
export function SubscriptionFacts({ subscription, forStore = false }: FactsProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const { paymentCurrency: currency, next_invoice: next, staking, mandate } = subscription;
  const money = (amount: string) => formatMoney(amount, currency, language);
  const day = (at: number) => dayText(at * 1000, language);
  return (
    <dl className={styles.facts}>
      <Fact name={t('facts.items')}>
        {subscription.items.map(({ id, price, quantity }) => (
          <span key={id} className={styles.item}>
            <span>
              {productName(price, texts)}
              {quantity > 1 ? <span className={styles.quiet}> × {quantity}</span> : null}
            </span>
            <span className="money">{priceText(price, currency, texts, quantity)}</span>
          </span>
        ))}
      </Fact>
      <Fact name={t('facts.period')}>
        {day(subscription.current_period_start)} – {day(subscription.current_period_end)}
      </Fact>
      <Fact name={t('facts.next')}>
        {next ? t('facts.nextOn', { amount: money(next.amount), date: day(next.at) }) : t('facts.noNext')}
      </Fact>
      <Fact name={t('facts.method')}>
        {mandateText(subscription, texts)}
        {mandate?.exp_year && mandate.exp_month ? (
          <span className={styles.quiet}>
            {t('facts.goodUntil', { month: monthText(mandate.exp_year, mandate.exp_month, language) })}
          </span>
        ) : null}
        {mandate?.limit && subscription.status !== 'canceled' ? (
          <span className={styles.quiet}>{t('facts.limit', { amount: money(mandate.limit) })}</span>
        ) : null}
      </Fact>
      <Account subscription={subscription} />
      {staking ? (
        <Fact name={t('facts.stake')}>
          {money(staking.amount)}
          <Stake subscription={subscription} forStore={forStore} />
        </Fact>
      ) : null}
    </dl>
  );
}

/** The account that pays, where one does, for whoever is signed in. Its room is kept until its network has answered. */
function Account({ subscription }: { subscription: Subscription }) {
  const { t } = useTexts();
  const user = useUser();
  const asked = isPaidByAccount(subscription) && Boolean(user);
  const { data, isPending } = useQuery({ ...fundsQuery(subscription), enabled: asked });
  if (!asked) return null;
  return (
    <Fact name={t('facts.account')}>
      {data ? (
        <FundsText subscription={subscription} funds={data} />
      ) : (
        <span className={styles.room} aria-busy={isPending || undefined}>
          {isPending ? (
            <span className="unseen">{t('state.loading')}</span>
          ) : (
            <span className={styles.quiet}>{t('facts.accountUnknown')}</span>
          )}
        </span>
      )}
    </Fact>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd className="money">{children}</dd>
    </div>
  );
}

function Stake({ subscription, forStore }: { subscription: Subscription; forStore: boolean }) {
  const { t, language } = useTexts();
  const { staking, paymentMethod } = subscription;
  if (!staking) return null;
  const link = staking.tx_hash
    ? transactionLink(paymentMethod, { arcblock: { tx_hash: staking.tx_hash, type: 'stake' } })
    : null;
  return (
    <>
      <span className={styles.quiet}>
        {t(`${forStore ? 'facts.stakeOf' : 'facts.stake'}.${staking.status}`, {
          date: staking.return_at ? dayText(staking.return_at * 1000, language) : '',
        })}
      </span>
      {link ? (
        <a href={link.url} target="_blank" rel="noopener noreferrer" className={styles.link}>
          {t('portal.payment.transaction')}
          <span className="unseen"> {t('a11y.newTab')}</span>
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

/** "Visa •••• 4242", or the wallet's kind. */
export function mandateText(
  { mandate, paymentMethod }: Pick<Subscription, 'mandate' | 'paymentMethod'>,
  { t }: Pick<Texts, 't'>,
): string {
  if (mandate?.type !== 'card' || !mandate.last4) return methodText(paymentMethod, { t });
  const brand = mandate.brand ? (BRANDS[mandate.brand.toLowerCase()] ?? mandate.brand) : t('portal.method.stripe');
  return `${brand} •••• ${mandate.last4}`;
}
