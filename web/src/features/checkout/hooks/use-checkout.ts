import { useCallback, useEffect, useRef, useState } from 'react';
import { fetchStore } from '@/api/client';
import { fetchSession } from '@/api/session';
import type { StoreInfo } from '@/api/types';
import { translateError } from '@/i18n/translate';
import { livemode, setLivemode } from '@/lib/livemode';
import { framed } from '../broadcast';
import { backoff, fetchCustomer, isLost, retrieve, start } from '../calls';
import { crossSells, extrasModule, frameModule, needsExtras, outcomeModule } from '../lazy-modules';
import { idOf, inFlight, isComplete, modeOf, mountPrefix } from '../rules/view';
import { t } from '../text';
import type { Checkout, Price, SessionUser } from '../wire';

export interface Loaded {
  checkout: Checkout;
  user: SessionUser | null;
  store: StoreInfo | null;
  /** What is offered beside the order. */
  crossSell: Price | null;
}

export type LoadState =
  /** `lost`: the server did not answer; it is asked again by itself. */
  { name: 'loading'; lost: boolean } | { name: 'error'; text: string } | ({ name: 'ready' } & Loaded);

const pageQuery = () => new URLSearchParams(window.location.search);

/** Starts a link or retrieves a session; everything the screen shows is rebuilt from this answer. */
async function load(known: string | null): Promise<Loaded> {
  const target = known ? { kind: 'session', id: known } : idOf(window.location.pathname);
  if (!target) throw new Error(t('state.wrongId'));
  const [checkout, session, store] = await Promise.all([
    target.kind === 'link' ? start(target.id, pageQuery()) : retrieve(target.id),
    fetchSession(),
    fetchStore(),
  ]);
  const { checkoutSession } = checkout;
  // Shown together with the order, so that nothing moves when it arrives.
  if (isComplete(checkoutSession) || inFlight(checkout)) await outcomeModule.load();
  const extras = needsExtras(checkoutSession) && !isComplete(checkoutSession) ? await extrasModule.load() : null;
  if (framed) await frameModule.load();
  const offers = extras && crossSells(checkoutSession);
  // One that cannot be had now is asked for again where it stands.
  const crossSell = offers ? await extras.fetchCrossSell(checkoutSession.id).catch(() => null) : null;
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
  /** Asks the server again, keeping what is shown until it answers. */
  reload: () => void;
  setCheckout: SetCheckout;
}

/** Takes an answer that something else has fetched, or what follows from the order as it is by then. */
export type SetCheckout = (next: Checkout | ((now: Checkout) => Checkout)) => void;

export function useCheckout(): CheckoutState {
  const [state, setState] = useState<LoadState>({ name: 'loading', lost: false });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const run = useRef(0);

  /** The address of an inline page goes on naming the link, but the order that was begun is this one. */
  const known = useRef<string>(null);

  const attempt = useCallback((round: number, retries: number) => {
    timer.current = undefined;
    load(known.current).then(
      (loaded) => {
        known.current = loaded.checkout.checkoutSession.id;
        if (run.current === round) setState({ name: 'ready', ...loaded });
      },
      (error: unknown) => {
        if (run.current !== round) return;
        if (!isLost(error) || !idOf(window.location.pathname)) {
          const text = translateError(error);
          setState({ name: 'error', text });
          return;
        }
        setState((before) => (before.name === 'ready' ? before : { name: 'loading', lost: true }));
        timer.current = setTimeout(() => attempt(round, retries + 1), backoff(retries));
      },
    );
  }, []);

  const reload = useCallback(() => {
    clearTimeout(timer.current);
    run.current += 1;
    setState((before) => (before.name === 'ready' ? before : { name: 'loading', lost: false }));
    attempt(run.current, 0);
  }, [attempt]);

  useEffect(() => {
    reload();
    const again = () => {
      if (timer.current) reload();
    };
    window.addEventListener('online', again);
    return () => {
      run.current += 1;
      clearTimeout(timer.current);
      window.removeEventListener('online', again);
    };
  }, [reload]);

  const setCheckout: SetCheckout = useCallback((next) => {
    setState((before) => {
      if (before.name !== 'ready') return before;
      const checkout = typeof next === 'function' ? next(before.checkout) : next;
      const customer = checkout.customer ?? before.checkout.customer;
      return { ...before, checkout: { ...checkout, customer } };
    });
  }, []);

  return { state, reload, setCheckout };
}
