import { useEffect, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Button } from '@/kit/button';
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
  const { offer, lost, askAgain } = useOffer(first, sessionId, order);
  const taken = order.items.some((item) => item.cross_sell || item.price_id === offer?.id);
  if (lost && required && !taken) {
    return (
      <section className="extras-cross" aria-labelledby="cross-sell">
        <h2 id="cross-sell">{t('crossSell.required')}</h2>
        <p role="alert">{t('crossSell.lost')}</p>
        <Button onClick={askAgain}>{t('action.retry')}</Button>
      </section>
    );
  }
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
function useOffer(first: Price | null, sessionId: string, { currency, shakes }: Order) {
  const [found, setFound] = useState<{ currencyId: string; offer: Price | null; lost: boolean } | null>(null);
  const [round, setRound] = useState(0);
  const currencyId = currency?.id;
  const fits = Boolean(first && currencyId && knowsCurrency(first, currencyId));
  // biome-ignore lint/correctness/useExhaustiveDependencies: an order that was refused for want of it asks again.
  useEffect(() => {
    if (fits || !currencyId) return;
    let latest = true;
    fetchCrossSell(sessionId, currencyId).then(
      (offer) => latest && setFound({ currencyId, offer, lost: false }),
      () => latest && setFound({ currencyId, offer: null, lost: true }),
    );
    return () => {
      latest = false;
    };
  }, [fits, sessionId, currencyId, round, shakes]);
  const known = found?.currencyId === currencyId ? found : null;
  return {
    offer: fits ? first : (known?.offer ?? null),
    lost: !fits && Boolean(known?.lost),
    askAgain: () => setRound((count) => count + 1),
  };
}
