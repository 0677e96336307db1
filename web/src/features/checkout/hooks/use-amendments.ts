import { useCallback, useRef, useState } from 'react';
import { translateError } from '@/i18n/translate';
import { isLost } from '../calls';
import { t } from '../text';
import type { CheckoutSession } from '../wire';
import type { SetCheckout } from './use-checkout';

/** Sends a change of the order and takes what it answers; the sentence to show when it was refused. */
export type Amend = (send: () => Promise<CheckoutSession>) => Promise<string | null>;

/**
 * Changes of the order that the server makes: a quantity, another rhythm, something beside it, a chosen amount. One
 * at a time and in their order: of two that run beside each other the server might apply the older one last.
 */
export function useAmendments(setCheckout: SetCheckout) {
  const [waiting, setWaiting] = useState(0);
  const [isBlocked, block] = useState(false);
  const last = useRef<Promise<unknown>>(Promise.resolve());

  const amend: Amend = useCallback(
    (send) => {
      setWaiting((count) => count + 1);
      const turn = last.current.then(async () => {
        try {
          const session = await send();
          setCheckout((now) => ({ ...now, checkoutSession: { ...now.checkoutSession, due: null, ...session } }));
          return null;
        } catch (error) {
          return isLost(error) ? t('error.network') : translateError(error);
        } finally {
          setWaiting((count) => count - 1);
        }
      });
      last.current = turn;
      return turn;
    },
    [setCheckout],
  );
  return { amend, amending: waiting > 0, block, isBlocked };
}
