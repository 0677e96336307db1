import { useLocale } from '@/i18n/light';
import type { Order } from '../hooks/use-order';
import { customOf } from '../rules/custom';
import { offerText, productName } from '../rules/price';
import type { Currency, Price } from '../types';
import { removeCrossSell } from './calls';
import { CrossSell } from './cross-sell';
import { CustomAmount } from './custom-amount';
import { ChangeButton } from './item-extras';
import { t } from './text';

interface RequiredExtrasProps {
  order: Order;
  currency: Currency;
  sessionId: string;
  offer: Price | null;
  /** The order cannot be placed without the offer. */
  required: boolean;
}

/** In minimal mode: the choices that the order still needs, a custom amount or a required cross-sell. */
export function RequiredExtras({ order, currency, sessionId, offer, required }: RequiredExtrasProps) {
  const locale = useLocale();
  return (
    <>
      {order.items.map((item) => {
        const custom = customOf(item.price, currency.id);
        const props = { item, order, currency, sessionId };
        return custom && <CustomAmount key={item.price_id + currency.id} {...props} custom={custom} />;
      })}
      {required && <CrossSell offer={offer} order={order} sessionId={sessionId} required />}
      {order.items.map(
        (item) =>
          item.cross_sell && (
            <div key={item.price_id} className="extras-added">
              <p className="checkout-item-name">{productName(item.price, locale) ?? item.price_id}</p>
              <p className="money">{offerText(item.price, currency, locale)}</p>
              <ChangeButton order={order} send={() => removeCrossSell(sessionId)} className="extras-remove">
                {t('crossSell.remove')}
              </ChangeButton>
            </div>
          ),
      )}
    </>
  );
}
