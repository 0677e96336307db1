import { useLocale } from '@/i18n/light';
import { formatMoney } from '@/lib/amount';
import type { Order } from '../hooks/use-order';
import { effectivePrice } from '../rules/price';
import { t } from '../text';
import type { Currency } from '../types';

/** The amount due now, its refundable deposit, and the renewal amount. */
export function Totals({ order, currency }: { order: Order; currency: Currency }) {
  const locale = useLocale();
  const isOnlyRecurring = order.items.every((item) => effectivePrice(item).type === 'recurring');
  return (
    <>
      <dl className="checkout-totals checkout-due">
        {order.stake !== '0' && (
          <>
            <dt className="checkout-row">{t(isOnlyRecurring ? 'totals.subscription' : 'totals.payment')}</dt>
            <dd className="checkout-row money">{formatMoney(order.payment, currency, locale)}</dd>
            <dt className="checkout-row">
              {t('totals.deposit')}
              <small className="checkout-detail">{t('totals.depositReturn', { count: order.stakeReturnDays })}</small>
            </dt>
            <dd className="checkout-row money">{formatMoney(order.stake, currency, locale)}</dd>
          </>
        )}
        <dt>{t('totals.total')}</dt>
        <dd className="money" data-testid="due">
          {order.totalText}
        </dd>
      </dl>
      {order.renewal && (
        <p className="checkout-detail checkout-renews">
          {t(order.trial ? 'totals.renewsAfterTrial' : 'totals.renews', { amount: order.renewal })}
        </p>
      )}
    </>
  );
}
