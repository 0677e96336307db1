import { useEffect, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Button } from '@/kit/button';
import type { Order } from '../hooks/use-order';
import { offerText, productName, supportsCurrency } from '../rules/price';
import { Picture } from '../sections/picture';
import type { Price } from '../types';
import { addCrossSell, fetchCrossSell } from './calls';
import { ChangeButton } from './item-extras';
import { t } from './text';

interface CrossSellProps {
  /** The offer at page load; other currencies can have other offers. */
  offer: Price | null;
  order: Order;
  sessionId: string;
  /** The order cannot be placed without it. */
  required: boolean;
}

/** Offers the cross-sell product until it is added. */
export function CrossSell({ offer: initialOffer, order, sessionId, required }: CrossSellProps) {
  const locale = useLocale();
  const { currency } = order;
  const { offer, failed, retry } = useOffer(initialOffer, sessionId, order);
  const isAdded = order.items.some((item) => item.cross_sell || item.price_id === offer?.id);
  if (failed && required && !isAdded) {
    return (
      <section className="extras-cross" aria-labelledby="cross-sell">
        <h2 id="cross-sell">{t('crossSell.required')}</h2>
        <p role="alert">{t('crossSell.lost')}</p>
        <Button onClick={retry}>{t('action.retry')}</Button>
      </section>
    );
  }
  if (!offer || !currency || isAdded || !supportsCurrency(offer, currency.id)) return null;
  const name = productName(offer, locale) ?? offer.id;
  return (
    <section className="extras-cross" aria-labelledby="cross-sell">
      <h2 id="cross-sell">{t(required ? 'crossSell.required' : 'crossSell.title')}</h2>
      <div className="extras-cross-item">
        <Picture src={offer.product?.images?.[0]} name={name} />
        <div>
          <p className="checkout-item-name">{name}</p>
          <p className="checkout-detail money">{offerText(offer, currency, locale)}</p>
        </div>
        <ChangeButton
          order={order}
          send={() => addCrossSell(sessionId, offer.id, currency.id)}
          className={`k-button k-button-${required ? 'primary' : 'secondary'}`}
          label={t('crossSell.addOf', { name })}
        >
          {t('crossSell.add')}
        </ChangeButton>
      </div>
    </section>
  );
}

/** The offer in the chosen currency; loaded if the initial offer is not priced in it. */
function useOffer(initialOffer: Price | null, sessionId: string, { currency, shakes }: Order) {
  const [loaded, setLoaded] = useState<{ currencyId: string; offer: Price | null; failed: boolean } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const currencyId = currency?.id;
  const isPayable = Boolean(initialOffer && currencyId && supportsCurrency(initialOffer, currencyId));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a submit that failed without the cross-sell reloads the offer.
  useEffect(() => {
    if (isPayable || !currencyId) return;
    let isCurrent = true;
    fetchCrossSell(sessionId, currencyId).then(
      (offer) => isCurrent && setLoaded({ currencyId, offer, failed: false }),
      () => isCurrent && setLoaded({ currencyId, offer: null, failed: true }),
    );
    return () => {
      isCurrent = false;
    };
  }, [isPayable, sessionId, currencyId, attempt, shakes]);
  const current = loaded?.currencyId === currencyId ? loaded : null;
  return {
    offer: isPayable ? initialOffer : (current?.offer ?? null),
    failed: !isPayable && Boolean(current?.failed),
    retry: () => setAttempt((count) => count + 1),
  };
}
