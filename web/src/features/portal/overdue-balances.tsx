import { CheckOutlined, LoadingOutlined } from '@ant-design/icons';
import { Link } from '@tanstack/react-router';
import { Button, Card, Flex, Typography } from 'antd';
import type { Invoice, Overdue } from '@/api/types';
import { queryClient } from '@/app/queries';
import { methodText } from '@/features/billing/invoice-text';
import { subscriptionName } from '@/features/billing/price-text';
import { overdueQuery } from '@/features/billing/queries';
import { type Texts, useTexts } from '@/features/billing/texts';
import { formatMoney } from '@/lib/amount';
import styles from './lists.module.css';
import type { Payer } from './pay';
import { PayByCard } from './pay-by-card';
import type { OpenBalance } from './use-overdue';

interface OverdueBalancesProps {
  balances: OpenBalance[];
  invoices: Invoice[];
  payer: Payer;
  /** Called when the card form opens or closes. */
  onCardForm?: (open: boolean) => void;
}

/** One row per currency with its own button: amounts of different currencies are never added. */
export function OverdueBalances({ balances, invoices, payer, onCardForm }: OverdueBalancesProps) {
  return (
    <ul className={styles.rows}>
      {balances.map((balance) => (
        <Balance
          key={balance.currencyId}
          balance={balance}
          payer={payer}
          invoices={invoices.filter(({ currency_id: id }) => id === balance.currencyId)}
          onCardForm={onCardForm}
        />
      ))}
    </ul>
  );
}

interface BalanceProps extends Pick<OverdueBalancesProps, 'payer' | 'invoices' | 'onCardForm'> {
  balance: OpenBalance;
}

function Balance({ balance, invoices, payer, onCardForm }: BalanceProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const amount = formatMoney(balance.amount, balance.currency, language);
  const { payment } = balance;
  return (
    <li>
      <Card size="small">
        <Flex justify="space-between" align="center" gap={12} wrap>
          <div>
            <Typography.Text strong className="money" style={{ display: 'block', fontSize: 'var(--size-l)' }}>
              {amount}
            </Typography.Text>
            <Typography.Text type="secondary">
              {t('overdue.count', { count: invoices.length })} · {methodText(balance.method, texts)}
            </Typography.Text>
          </div>
          {balance.byWallet ? <WalletPayment balance={balance} amount={amount} /> : null}
          {!balance.byWallet && 'subscriptionId' in payer ? (
            <PayByCard
              target={{ subscription_id: payer.subscriptionId, currency_id: balance.currencyId }}
              text={t('pay.amountByCard', { amount })}
              type="primary"
              isPaid={() => isPaid(payer.subscriptionId, balance.currencyId)}
              onForm={onCardForm}
            />
          ) : null}
        </Flex>
        {payment.name === 'error' ? (
          <Typography.Paragraph role="alert" type="danger">
            {payment.reason === 'unconfirmed'
              ? t('overdue.unconfirmed')
              : t('overdue.failed', { message: payment.message || t('overdue.notPaid') })}
          </Typography.Paragraph>
        ) : null}
        {balance.byWallet || 'subscriptionId' in payer ? null : <CardSubscriptions invoices={invoices} />}
      </Card>
    </li>
  );
}

/** The button that pays by wallet, and what became of the payment. It keeps its place. */
function WalletPayment({ balance: { payment, pay }, amount }: { balance: OpenBalance; amount: string }) {
  const { t } = useTexts();
  return (
    <div className={styles.outcome}>
      {payment.name === 'success' ? (
        <Typography.Text type="success">
          <CheckOutlined aria-hidden="true" /> {t('overdue.paid')}
        </Typography.Text>
      ) : payment.name === 'confirming' ? (
        <Typography.Text type="secondary">
          <LoadingOutlined aria-hidden="true" /> {t('overdue.confirming')}
        </Typography.Text>
      ) : (
        <Button type="primary" loading={payment.name === 'open'} onClick={pay}>
          {payment.name === 'error' ? t('overdue.retry', { amount }) : t('pay.amount', { amount })}
        </Button>
      )}
    </div>
  );
}

async function isPaid(subscriptionId: string, currencyId: string): Promise<boolean> {
  const { summary } = await queryClient.fetchQuery({ ...overdueQuery({ subscriptionId }), staleTime: 0 });
  return !(currencyId in summary);
}

/** Links to the subscriptions that a card pays: their pages accept a card. */
function CardSubscriptions({ invoices }: { invoices: Invoice[] }) {
  const texts = useTexts();
  const { t } = texts;
  const subscriptions = new Map(
    invoices.flatMap(({ subscription_id: id, subscription }) =>
      id ? [[id, subscriptionName({ id, ...subscription }, texts)] as const] : [],
    ),
  );
  return (
    <>
      <p>{t('overdue.byCard')}</p>
      {[...subscriptions].map(([id, name]) => (
        <p key={id}>
          <Link to="/customer/subscription/$id" params={{ id }}>
            {t('overdue.details', { name })}
          </Link>
        </p>
      ))}
    </>
  );
}

/** For one currency: the subscription, the number of invoices, amount and method. For several: that there are some. */
export function overdueText(overdue: Overdue, balances: OpenBalance[], texts: Texts): string {
  const { t, language } = texts;
  const [balance] = balances;
  const name = overdue.subscription && subscriptionName(overdue.subscription, texts);
  if (balances.length !== 1 || !balance) return name ? t('overdue.leadFor', { name }) : t('overdue.lead');
  const values = {
    count: overdue.invoices.length,
    amount: formatMoney(balance.amount, balance.currency, language),
    method: methodText(balance.method, texts),
  };
  return name ? t('overdue.leadOneFor', { ...values, name }) : t('overdue.leadOne', values);
}
