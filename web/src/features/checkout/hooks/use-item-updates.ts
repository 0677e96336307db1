import { useCallback, useRef, useState } from 'react';
import { translateError } from '@/i18n/translate';
import { isNetworkError } from '../calls';
import { t } from '../text';
import type { CheckoutSession } from '../types';
import type { SetCheckout } from './use-checkout';

/** Sends a change of the order and applies the response. Resolves with an error text, or null. */
export type UpdateItems = (send: () => Promise<CheckoutSession>) => Promise<string | null>;

/**
 * Changes of the order on the server: quantity, upsell, cross-sell, custom amount. They run one at a time, in order,
 * because parallel requests could be applied in the wrong order.
 */
export function useItemUpdates(setCheckout: SetCheckout) {
  const [waiting, setWaiting] = useState(0);
  const [isBlocked, block] = useState(false);
  const last = useRef<Promise<unknown>>(Promise.resolve());

  const updateItems: UpdateItems = useCallback(
    (send) => {
      setWaiting((count) => count + 1);
      const request = last.current.then(async () => {
        try {
          const session = await send();
          setCheckout((current) => ({
            ...current,
            checkoutSession: { ...current.checkoutSession, due: null, ...session },
          }));
          return null;
        } catch (error) {
          return isNetworkError(error) ? t('error.network') : translateError(error);
        } finally {
          setWaiting((count) => count - 1);
        }
      });
      last.current = request;
      return request;
    },
    [setCheckout],
  );
  return { updateItems, isUpdating: waiting > 0, block, isBlocked };
}
