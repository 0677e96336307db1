import type { Subscription, SubscriptionFunds } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { periodsCovered } from './funds';
import styles from './subscription-facts.module.css';
import { useTexts } from './texts';

interface FundsTextProps {
  subscription: Pick<Subscription, 'paymentCurrency' | 'status'>;
  funds: SubscriptionFunds;
}

/** What the account that pays holds, for how long that lasts, and its address, to which anybody can send. */
export function FundsText({ subscription, funds }: FundsTextProps) {
  const { t, language } = useTexts();
  // What is owed is charged first, and is not in the price of a period.
  const periods = subscription.status === 'past_due' ? null : periodsCovered(funds);
  const amount = funds.balance === null ? null : formatMoney(funds.balance, subscription.paymentCurrency, language);
  return (
    <>
      {amount === null ? null : (
        <span>
          {periods === null ? amount : t('funds.covers', { amount, periods: t('funds.periods', { count: periods }) })}
        </span>
      )}
      <span className={styles.quiet}>{funds.payer}</span>
    </>
  );
}
