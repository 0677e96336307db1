import { useCallback, useEffect, useRef, useState } from 'react';
import { listenToRelay, type RelayIds } from '@/api/relay';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { POLL_MS, POLL_TIMEOUT_MS } from '../settlement';
import type { Overdue } from '../types';
import { fetchOverdue } from './calls';
import { t } from './text';

/** SPEC.md 9: the list reloads 1 s after an event, and at most 5 s after the first of several. */
const DEBOUNCE_MS = 1000;
const DEBOUNCE_MAX_MS = 5000;
/** How long a paid amount stays visible. */
const PAID_VISIBLE_MS = 1200;

/** `open`: the wallet dialog is open. `confirming`: the wallet has paid, and the invoices are not updated yet. */
export type PayState = 'idle' | 'open' | 'confirming' | 'success' | 'error';

export type OverdueState = { name: 'loading' } | { name: 'error'; text: string } | { name: 'ready'; overdue: Overdue };

interface OverdueInput {
  owner: string;
  appPid: string | undefined;
  onPaid: () => void;
}

export function useOverdue({ owner, appPid, onPaid }: OverdueInput) {
  const [state, setState] = useState<OverdueState>({ name: 'loading' });
  const [paying, setPaying] = useState<Record<string, PayState>>({});
  const shown = useRef<Overdue | null>(null);
  const paidCurrencies = useRef(new Set<string>());
  const finished = useRef(false);
  const onPaidRef = useRef(onPaid);
  onPaidRef.current = onPaid;
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  const schedule = useCallback((run: () => void, ms: number) => {
    const timer = setTimeout(() => {
      timers.current.delete(timer);
      run();
    }, ms);
    timers.current.add(timer);
    return timer;
  }, []);
  const setPayState = useCallback((id: string, now: PayState) => setPaying((states) => ({ ...states, [id]: now })), []);

  /** Shows new totals. Currencies that are gone were paid; they stay visible for a moment. */
  const setOverdue = useCallback(
    (overdue: Overdue) => {
      const previous = shown.current?.summary ?? {};
      const paid = Object.entries(previous).filter(([id]) => !overdue.summary[id]);
      for (const [id] of paid) {
        paidCurrencies.current.add(id);
        setPayState(id, 'success');
      }
      if (paid.length > 0) announce(t('overdue.paid'));
      const show = () => {
        shown.current = overdue;
        setState({ name: 'ready', overdue });
        if (paid.length > 0 && Object.keys(overdue.summary).length === 0 && !finished.current) {
          finished.current = true;
          onPaidRef.current();
        }
      };
      if (paid.length > 0) schedule(show, PAID_VISIBLE_MS);
      else show();
    },
    [setPayState, schedule],
  );

  const refresh = useCallback(
    () =>
      fetchOverdue(owner).then(setOverdue, (error: unknown) => {
        if (!shown.current) setState({ name: 'error', text: translateError(error) });
      }),
    [owner, setOverdue],
  );

  useEffect(() => {
    refresh();
    const pending = timers.current;
    return () => {
      for (const timer of pending) clearTimeout(timer);
    };
  }, [refresh]);

  // Invoices can be paid elsewhere; several events cause one reload.
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let firstEventAt = 0;
    const onEvent = (name: string, { customer_id: eventCustomerId }: RelayIds) => {
      // The channel has the events of all customers. Before the first response this customer's id is unknown.
      const customerId = shown.current?.customer?.id;
      if (name !== 'invoice.paid' || (customerId && eventCustomerId !== customerId)) return;
      const now = Date.now();
      if (!timer) firstEventAt = now;
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          timer = undefined;
          refresh();
        },
        Math.max(0, Math.min(DEBOUNCE_MS, firstEventAt + DEBOUNCE_MAX_MS - now)),
      );
    };
    const stop = listenToRelay(channel, { onEvent, onUp: () => undefined });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [channel, refresh]);

  /** Polls after a wallet payment until no invoice of the currency remains. */
  const confirm = (id: string, startedAt: number) => {
    schedule(
      async () => {
        await refresh();
        if (paidCurrencies.current.has(id)) return;
        if (Date.now() - startedAt > POLL_TIMEOUT_MS) setPayState(id, 'error');
        else confirm(id, startedAt);
      },
      Date.now() - startedAt < DEBOUNCE_MS ? DEBOUNCE_MS : POLL_MS,
    );
  };

  const pay = (id: string) => {
    const total = shown.current?.summary[id];
    if (!total) return;
    setPayState(id, 'open');
    openConnect({
      action: 'collect-batch',
      extraParams: { currencyId: id, customerId: shown.current?.customer?.id ?? owner },
      title: t('overdue.connect'),
      onSuccess: () => {
        setPayState(id, 'confirming');
        confirm(id, Date.now());
      },
      onClose: () => {
        setPayState(id, 'idle');
        refresh();
      },
    });
  };

  const retry = () => {
    setState({ name: 'loading' });
    refresh();
  };

  return { state, paying, pay, retry };
}
