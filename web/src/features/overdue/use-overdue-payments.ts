import { useCallback, useEffect, useRef, useState } from 'react';
import { type ConnectOptions, openConnect } from '@/features/connect';
import { POLL_MS, POLL_TIMEOUT_MS } from '@/lib/polling';

const FIRST_POLL_MS = 1000;
/** How long a paid balance stays visible. */
const PAID_VISIBLE_MS = 1200;

/** The payment of an overdue balance. A balance that is gone from the server's response is paid. */
export type OverduePayment =
  | { name: 'idle' }
  /** The wallet dialog is open. */
  | { name: 'open' }
  /** The wallet has paid, and the invoices are not updated yet. */
  | { name: 'confirming' }
  | { name: 'success' }
  /** The wallet dialog was closed after a decline. */
  | { name: 'error'; reason: 'declined'; message: string }
  /** The invoices were not updated in time. The payment may still arrive. */
  | { name: 'error'; reason: 'unconfirmed' };

const IDLE: OverduePayment = { name: 'idle' };

interface OverdueInput<O> {
  /** The last response of the server. */
  overdue: O | undefined;
  /** Requests `overdue` again; never rejects. */
  refetch: () => Promise<unknown>;
  /** The wallet request that pays a currency. */
  requestOf: (currencyId: string) => Pick<ConnectOptions, 'title' | 'extraParams'>;
  /** Balances were paid, here or elsewhere. */
  onSettled: () => void;
  /** All balances were paid. */
  onPaid?: () => void;
}

/** Pays overdue balances by wallet, each currency for itself. */
export function useOverduePayments<O extends { summary: Record<string, unknown> }>(input: OverdueInput<O>) {
  const { overdue } = input;
  const latest = useRef(input);
  latest.current = input;
  /** Paid balances are shown a moment longer than the server reports them. */
  const [shown, setShown] = useState(overdue);
  const previous = useRef(overdue);
  const [payments, setPayments] = useState<Record<string, OverduePayment>>({});
  const confirming = useRef(new Set<string>());
  const settled = useRef(new Set<string>());
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  const isMounted = useRef(false);

  const set = (id: string, payment: OverduePayment) => setPayments((all) => ({ ...all, [id]: payment }));
  /** Changes the state unless another event has done so meanwhile. */
  const move = (id: string, from: OverduePayment['name'], to: OverduePayment) =>
    setPayments((all) => (all[id]?.name === from ? { ...all, [id]: to } : all));

  useEffect(() => {
    isMounted.current = true;
    const pending = timers.current;
    return () => {
      isMounted.current = false;
      for (const timer of pending) clearTimeout(timer);
    };
  }, []);

  useEffect(() => {
    if (!overdue) return;
    const paid = Object.keys(previous.current?.summary ?? {}).filter((id) => !(id in overdue.summary));
    const show = () => {
      previous.current = overdue;
      setShown(overdue);
      for (const id of paid) settled.current.delete(id);
      // The currency can become overdue again.
      setPayments((all) => Object.fromEntries(Object.entries(all).filter(([id]) => !paid.includes(id))));
      if (paid.length > 0 && Object.keys(overdue.summary).length === 0) latest.current.onPaid?.();
    };
    if (paid.length === 0) return show();
    const newlyPaid = paid.filter((id) => !settled.current.has(id));
    for (const id of newlyPaid) {
      settled.current.add(id);
      confirming.current.delete(id);
    }
    setPayments((all) => ({ ...all, ...Object.fromEntries(paid.map((id) => [id, { name: 'success' as const }])) }));
    if (newlyPaid.length > 0) latest.current.onSettled();
    const timer = setTimeout(show, PAID_VISIBLE_MS);
    return () => clearTimeout(timer);
  }, [overdue]);

  const poll = (id: string, startedAt: number, delay = POLL_MS) => {
    if (!isMounted.current) return;
    const check = async () => {
      timers.current.delete(timer);
      if (!confirming.current.has(id)) return;
      await latest.current.refetch();
      if (!confirming.current.has(id)) return;
      if (Date.now() - startedAt < POLL_TIMEOUT_MS) return poll(id, startedAt);
      confirming.current.delete(id);
      move(id, 'confirming', { name: 'error', reason: 'unconfirmed' });
    };
    const timer = setTimeout(check, delay);
    timers.current.add(timer);
  };

  const pay = (id: string) => {
    if (!previous.current || !(id in previous.current.summary)) return;
    let decline: string | null = null;
    set(id, { name: 'open' });
    openConnect({
      action: 'collect-batch',
      ...latest.current.requestOf(id),
      onError: (message = '') => {
        decline = message;
      },
      onSuccess: () => {
        move(id, 'open', { name: 'confirming' });
        if (settled.current.has(id)) return;
        confirming.current.add(id);
        poll(id, Date.now(), FIRST_POLL_MS);
      },
      onClose: () => {
        move(id, 'open', decline === null ? IDLE : { name: 'error', reason: 'declined', message: decline });
        void latest.current.refetch();
      },
    });
  };

  const paymentOf = useCallback((id: string): OverduePayment => payments[id] ?? IDLE, [payments]);
  return { shown, paymentOf, pay };
}
