import { useLocale } from '@/i18n/light';
import { formatMoney } from '@/lib/amount';
import type { Order } from '../hooks/use-order';
import type { Currency } from '../types';
import { t } from './text';

/** The amount due now, its refundable deposit, and the renewal amount. */
export function Totals({ order, currency }: { order: Order; currency: Currency }) {
  const locale = useLocale();
  return (
    <>
      <dl className="checkout-totals extras-totals">
        {order.stake !== '0' && (
          <>
            <dt className="extras-row">{t('totals.payment')}</dt>
            <dd className="extras-row money">{formatMoney(order.payment, currency, locale)}</dd>
            <dt className="extras-row">
              {t('totals.deposit')}
              <small className="checkout-detail">{t('totals.depositReturn', { count: order.stakeReturnDays })}</small>
            </dt>
            <dd className="extras-row money">{formatMoney(order.stake, currency, locale)}</dd>
          </>
        )}
        <dt>{t('totals.total')}</dt>
        <dd className="money" data-testid="due">
          {order.totalText}
        </dd>
      </dl>
      {order.renewal && (
        <p className="checkout-detail extras-renews">
          {t(order.trial ? 'totals.renewsAfterTrial' : 'totals.renews', { amount: order.renewal })}
        </p>
      )}
    </>
  );
}
