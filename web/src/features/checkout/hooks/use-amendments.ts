import { useCallback, useRef, useState } from 'react';
import { spokenError } from '@/i18n/spoken';
import { isLost } from '../calls';
import { t } from '../text';
import type { CheckoutSession } from '../wire';
import type { Take } from './use-checkout';

/** Sends a change of the order and takes what it answers; the sentence to show when it was refused. */
export type Amend = (send: () => Promise<CheckoutSession>) => Promise<string | null>;

/**
 * Changes of the order that the server makes: a quantity, another rhythm, something beside it, a chosen amount. One
 * at a time and in their order: of two that run beside each other the server might take the older one last.
 */
export function useAmendments(take: Take) {
  const [waiting, setWaiting] = useState(0);
  const [held, hold] = useState(false);
  const last = useRef<Promise<unknown>>(Promise.resolve());

  const amend: Amend = useCallback(
    (send) => {
      setWaiting((count) => count + 1);
      const turn = last.current.then(async () => {
        try {
          const session = await send();
          take((now) => ({ ...now, checkoutSession: { ...now.checkoutSession, due: null, ...session } }));
          return null;
        } catch (error) {
          return isLost(error) ? t('error.network') : spokenError(error);
        } finally {
          setWaiting((count) => count - 1);
        }
      });
      last.current = turn;
      return turn;
    },
    [take],
  );
  return { amend, amending: waiting > 0, hold, held };
}
