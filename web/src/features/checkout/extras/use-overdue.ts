import { useCallback, useEffect, useRef, useState } from 'react';
import { listenToRelay, type RelayIds } from '@/api/relay';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { PATIENCE_MS, POLL_MS } from '../settlement';
import type { Overdue } from '../wire';
import { fetchOverdue } from './calls';
import { t } from './text';

/** SPEC.md 9: after an event the list is asked for 1 s later, and at most 5 s after the first of many. */
const SETTLE_MS = 1000;
const LONGEST_MS = 5000;
/** How long what was paid stands there before it goes. */
const SHOWN_MS = 1200;

/** `open`: the wallet is asked. `confirming`: it has paid, the invoices do not say so yet. */
export type Paying = 'idle' | 'open' | 'confirming' | 'success' | 'error';

export type OverdueState = { name: 'loading' } | { name: 'error'; text: string } | { name: 'ready'; overdue: Overdue };

interface OverdueInput {
  owner: string;
  appPid: string | undefined;
  onPaid: () => void;
}

export function useOverdue({ owner, appPid, onPaid }: OverdueInput) {
  const [state, setState] = useState<OverdueState>({ name: 'loading' });
  const [paying, setPaying] = useState<Record<string, Paying>>({});
  const shown = useRef<Overdue | null>(null);
  const settled = useRef(new Set<string>());
  const finished = useRef(false);
  const end = useRef(onPaid);
  end.current = onPaid;
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  const later = useCallback((run: () => void, ms: number) => {
    const timer = setTimeout(() => {
      timers.current.delete(timer);
      run();
    }, ms);
    timers.current.add(timer);
    return timer;
  }, []);
  const mark = useCallback((id: string, now: Paying) => setPaying((all) => ({ ...all, [id]: now })), []);

  /** Takes the sums as they are; those that are gone are told as paid, and stand there for a moment. */
  const setOverdue = useCallback(
    (overdue: Overdue) => {
      const before = shown.current?.summary ?? {};
      const gone = Object.entries(before).filter(([id]) => !overdue.summary[id]);
      for (const [id] of gone) {
        settled.current.add(id);
        mark(id, 'success');
      }
      if (gone.length > 0) announce(t('overdue.paid'));
      const show = () => {
        shown.current = overdue;
        setState({ name: 'ready', overdue });
        if (gone.length > 0 && Object.keys(overdue.summary).length === 0 && !finished.current) {
          finished.current = true;
          end.current();
        }
      };
      if (gone.length > 0) later(show, SHOWN_MS);
      else show();
    },
    [mark, later],
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
    const all = timers.current;
    return () => {
      for (const timer of all) clearTimeout(timer);
    };
  }, [refresh]);

  // Invoices that are paid elsewhere: many events, one question.
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let since = 0;
    const onEvent = (name: string, { customer_id: whose }: RelayIds) => {
      // The channel tells of everybody's. Before the first answer it is not known whose these are.
      const own = shown.current?.customer?.id;
      if (name !== 'invoice.paid' || (own && whose !== own)) return;
      const now = Date.now();
      if (!timer) since = now;
      clearTimeout(timer);
      timer = setTimeout(
        () => {
          timer = undefined;
          refresh();
        },
        Math.max(0, Math.min(SETTLE_MS, since + LONGEST_MS - now)),
      );
    };
    const stop = listenToRelay(channel, { onEvent, onUp: () => undefined });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [channel, refresh]);

  /** The wallet has paid: asks until no invoice of the currency remains. */
  const confirm = (id: string, began: number) => {
    later(
      async () => {
        await refresh();
        if (settled.current.has(id)) return;
        if (Date.now() - began > PATIENCE_MS) mark(id, 'error');
        else confirm(id, began);
      },
      Date.now() - began < SETTLE_MS ? SETTLE_MS : POLL_MS,
    );
  };

  const pay = (id: string) => {
    const sum = shown.current?.summary[id];
    if (!sum) return;
    mark(id, 'open');
    openConnect({
      action: 'collect-batch',
      extraParams: { currencyId: id, customerId: shown.current?.customer?.id ?? owner },
      title: t('overdue.connect'),
      onSuccess: () => {
        mark(id, 'confirming');
        confirm(id, Date.now());
      },
      onClose: () => {
        mark(id, 'idle');
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
