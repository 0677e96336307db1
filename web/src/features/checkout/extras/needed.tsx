import { useLocale } from '@/i18n/light';
import type { Order } from '../hooks/use-order';
import { customOf } from '../rules/custom';
import { priceText, productName } from '../rules/price';
import type { Currency, Price } from '../wire';
import { removeCrossSell } from './calls';
import { CrossSell } from './cross-sell';
import { CustomAmount } from './custom-amount';
import { Change } from './item-extras';
import { t } from './text';

interface NeededProps {
  order: Order;
  currency: Currency;
  sessionId: string;
  offer: Price | null;
  /** The order needs what is offered with it. */
  required: boolean;
}

/** Where no summary is shown: what has to be chosen nevertheless, an amount or what must go with the order. */
export function Needed({ order, currency, sessionId, offer, required }: NeededProps) {
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
            <div key={item.price_id} className="extras-taken">
              <p className="checkout-item-name">{productName(item.price, locale) ?? item.price_id}</p>
              <p className="money">{priceText(item.price, currency, 1, locale)}</p>
              <Change order={order} send={() => removeCrossSell(sessionId)} className="extras-remove">
                {t('crossSell.remove')}
              </Change>
            </div>
          ),
      )}
    </>
  );
}
