import { useLocale } from '@/i18n/light';
import { formatMoney } from '@/lib/amount';
import type { Order } from '../hooks/use-order';
import type { Currency } from '../wire';
import { t } from './text';

/** What is due now, what is only staked, and what comes again. */
export function Sums({ order, currency }: { order: Order; currency: Currency }) {
  const locale = useLocale();
  return (
    <>
      <dl className="checkout-sums extras-sums">
        {order.stake !== '0' && (
          <>
            <dt className="extras-part">{t('sums.payment')}</dt>
            <dd className="extras-part money">{formatMoney(order.payment, currency, locale)}</dd>
            <dt className="extras-part">
              {t('sums.stake')}
              <small className="checkout-detail">{t('sums.stakeWhy')}</small>
            </dt>
            <dd className="extras-part money">{formatMoney(order.stake, currency, locale)}</dd>
          </>
        )}
        <dt>{t('sums.total')}</dt>
        <dd className="money" data-testid="due">
          {order.totalText}
        </dd>
      </dl>
      {order.renewal && (
        <p className="checkout-detail extras-renews">
          {t(order.trial ? 'sums.renewsTrial' : 'sums.renews', { amount: order.renewal })}
        </p>
      )}
    </>
  );
}
