import { useCallback, useEffect, useRef, useState } from 'react';
import { fetchStore } from '@/api/client';
import { ApiError } from '@/api/error';
import { fetchSession } from '@/api/session';
import type { StoreInfo } from '@/api/types';
import { problemOf, translateError } from '@/i18n/translate';
import { livemode, setLivemode } from '@/lib/livemode';
import { isFramed } from '../broadcast';
import { backoff, fetchCustomer, isNetworkError, retrieve, start } from '../calls';
import { extrasModule, frameModule, hasCrossSell, needsExtras, outcomeModule } from '../lazy-modules';
import { idOf, inFlight, isComplete, modeOf, mountPrefix } from '../rules/view';
import { t } from '../text';
import type { Checkout, Price, SessionUser } from '../types';

export interface Loaded {
  checkout: Checkout;
  user: SessionUser | null;
  store: StoreInfo | null;
  /** The cross-sell offer. */
  crossSell: Price | null;
}

export type LoadState =
  /** `lost`: no response; the request is retried. */
  | { name: 'loading'; lost: boolean }
  /** `isFinal`: the link names no order, so that a retry is pointless. */
  | { name: 'error'; text: string; isFinal: boolean }
  /** The order can only be paid at the sandbox, which is off. */
  | { name: 'sandboxOff' }
  | ({ name: 'ready' } & Loaded);

const pageQuery = () => new URLSearchParams(window.location.search);

/** Starts a link or retrieves a session; the whole page is rendered from the response. */
async function load(sessionId: string | null): Promise<Loaded> {
  const target = sessionId ? { kind: 'session', id: sessionId } : idOf(window.location.pathname);
  if (!target) throw new Error(t('state.wrongId'));
  const [checkout, session, store] = await Promise.all([
    target.kind === 'link' ? start(target.id, pageQuery()) : retrieve(target.id),
    fetchSession(),
    fetchStore(),
  ]);
  const { checkoutSession } = checkout;
  // Loaded before the order is shown, to avoid layout shifts.
  if (isComplete(checkoutSession) || inFlight(checkout)) await outcomeModule.load();
  const extras = needsExtras(checkoutSession) && !isComplete(checkoutSession) ? await extrasModule.load() : null;
  if (isFramed) await frameModule.load();
  const hasOffer = extras && hasCrossSell(checkoutSession);
  // CrossSell retries a failed request itself.
  const crossSell = hasOffer ? await extras.fetchCrossSell(checkoutSession.id).catch(() => null) : null;
  if (checkoutSession.livemode !== livemode()) setLivemode(checkoutSession.livemode);
  if (target.kind === 'link' && modeOf(pageQuery()).startsWith('standalone')) {
    const path = `${mountPrefix(window.location.pathname)}/checkout/pay/${checkoutSession.id}`;
    window.history.replaceState(window.history.state, '', path + window.location.search);
  }
  if (session.user && !checkout.customer) checkout.customer = await fetchCustomer().catch(() => null);
  return { checkout, user: session.user, store, crossSell };
}

export interface CheckoutState {
  state: LoadState;
  /** Reloads while keeping the current content. */
  reload: () => void;
  setCheckout: SetCheckout;
}

/** Replaces the checkout with a response fetched elsewhere, or updates the current one. */
export type SetCheckout = (next: Checkout | ((current: Checkout) => Checkout)) => void;

export function useCheckout(): CheckoutState {
  const [state, setState] = useState<LoadState>({ name: 'loading', lost: false });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const currentRound = useRef(0);

  /** The URL of an inline page keeps naming the link; this is the id of the started session. */
  const sessionId = useRef<string>(null);

  const attempt = useCallback((round: number, retries: number) => {
    timer.current = undefined;
    load(sessionId.current).then(
      (loaded) => {
        sessionId.current = loaded.checkout.checkoutSession.id;
        if (currentRound.current === round) setState({ name: 'ready', ...loaded });
      },
      (error: unknown) => {
        if (currentRound.current !== round) return;
        if (!isNetworkError(error) || !idOf(window.location.pathname)) {
          const isSandboxOff = problemOf(error).code === 'SANDBOX_OFF';
          const isFinal = !idOf(window.location.pathname) || (error instanceof ApiError && error.status === 404);
          setState(isSandboxOff ? { name: 'sandboxOff' } : { name: 'error', text: translateError(error), isFinal });
          return;
        }
        setState((previous) => (previous.name === 'ready' ? previous : { name: 'loading', lost: true }));
        timer.current = setTimeout(() => attempt(round, retries + 1), backoff(retries));
      },
    );
  }, []);

  const reload = useCallback(() => {
    clearTimeout(timer.current);
    currentRound.current += 1;
    setState((previous) => (previous.name === 'ready' ? previous : { name: 'loading', lost: false }));
    attempt(currentRound.current, 0);
  }, [attempt]);

  useEffect(() => {
    reload();
    const onOnline = () => {
      if (timer.current) reload();
    };
    window.addEventListener('online', onOnline);
    return () => {
      currentRound.current += 1;
      clearTimeout(timer.current);
      window.removeEventListener('online', onOnline);
    };
  }, [reload]);

  const setCheckout: SetCheckout = useCallback((next) => {
    setState((previous) => {
      if (previous.name !== 'ready') return previous;
      const checkout = typeof next === 'function' ? next(previous.checkout) : next;
      const customer = checkout.customer ?? previous.checkout.customer;
      return { ...previous, checkout: { ...checkout, customer } };
    });
  }, []);

  return { state, reload, setCheckout };
}
