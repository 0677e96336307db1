import { useEffect, useState } from 'react';
import { useLocale } from '@/i18n/light';
import type { Order } from '../hooks/use-order';
import { Picture } from '../parts/picture';
import { knowsCurrency, priceText, productName } from '../rules/price';
import type { Price } from '../wire';
import { addCrossSell, fetchCrossSell } from './calls';
import { Change } from './item-extras';
import { t } from './text';

interface CrossSellProps {
  /** As it was when the page was loaded; another currency may have another one. */
  offer: Price | null;
  order: Order;
  sessionId: string;
  /** The order needs it. */
  required: boolean;
}

/** What goes with the order, until it is taken. */
export function CrossSell({ offer: first, order, sessionId, required }: CrossSellProps) {
  const locale = useLocale();
  const { currency } = order;
  const offer = useOffer(first, sessionId, currency?.id);
  const taken = order.items.some((item) => item.cross_sell || item.price_id === offer?.id);
  if (!offer || !currency || taken || !knowsCurrency(offer, currency.id)) return null;
  const name = productName(offer, locale) ?? offer.id;
  return (
    <section className="extras-cross" aria-labelledby="cross-sell">
      <h2 id="cross-sell">{t(required ? 'crossSell.required' : 'crossSell.title')}</h2>
      <div className="extras-cross-item">
        <Picture src={offer.product?.images?.[0]} name={name} />
        <div>
          <p className="checkout-item-name">{name}</p>
          <p className="checkout-detail money">{priceText(offer, currency, 1, locale)}</p>
        </div>
        <Change
          order={order}
          send={() => addCrossSell(sessionId, offer.id, currency.id)}
          className={`k-button k-button-${required ? 'primary' : 'secondary'}`}
          label={t('crossSell.addOf', { name })}
        >
          {t('crossSell.add')}
        </Change>
      </div>
    </section>
  );
}

/** What is offered in the currency that is chosen; asked for where the first offer cannot be paid in it. */
function useOffer(first: Price | null, sessionId: string, currencyId: string | undefined): Price | null {
  const [found, setFound] = useState<{ currencyId: string; offer: Price | null } | null>(null);
  const fits = Boolean(first && currencyId && knowsCurrency(first, currencyId));
  useEffect(() => {
    if (fits || !currencyId) return;
    let latest = true;
    void fetchCrossSell(sessionId, currencyId).then((offer) => latest && setFound({ currencyId, offer }));
    return () => {
      latest = false;
    };
  }, [fits, sessionId, currencyId]);
  if (fits) return first;
  return found && found.currencyId === currencyId ? found.offer : null;
}
