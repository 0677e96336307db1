import { Typography } from 'antd';
import type { PayingBalance, Subscription } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { durationOf, periodsCovered } from './balance';
import { type Texts, useTexts } from './texts';

type Plan = Pick<Subscription, 'paymentCurrency' | 'status' | 'items'>;

/** "3 months", by the interval of the plan. */
export function durationText(periods: number, plan: Pick<Plan, 'items'>, { t }: Pick<Texts, 't'>): string {
  const { interval, count } = durationOf(periods, plan);
  return t(`duration.${interval}`, { count });
}

/** The balance of the paying account, how long it lasts, and the address of the account. */
export function BalanceText({ subscription, balance }: { subscription: Plan; balance: PayingBalance }) {
  const texts = useTexts();
  const { t, language } = texts;
  // Overdue invoices are charged first and are not part of the price of a period.
  const periods = subscription.status === 'past_due' ? null : periodsCovered(balance);
  const amount = balance.balance === null ? null : formatMoney(balance.balance, subscription.paymentCurrency, language);
  return (
    <span style={{ overflowWrap: 'anywhere' }}>
      {amount === null ? null : (
        <span className="money" style={{ display: 'block' }}>
          {!periods ? amount : t('balance.covers', { amount, duration: durationText(periods, subscription, texts) })}
        </span>
      )}
      <Typography.Text type="secondary">{balance.payer}</Typography.Text>
    </span>
  );
}
