import { useEffect, useRef } from 'react';
import { listenToRelay, type RelayIds } from '@/api/relay';
import { debounce } from './debounce';

interface RelayRefresh {
  /** The channel of the store; nothing is received without one. */
  appPid: string | undefined;
  /** False while the page needs no events. */
  enabled?: boolean;
  /** Returns whether an event changes the data of the page. The channel has the events of all customers. */
  onEvent: (name: string, ids: RelayIds) => boolean;
  /** Called once for several events in a row. */
  refresh: () => void;
}

/** Reloads the data of a page after events of the store. */
export function useRelayRefresh({ appPid, enabled = true, onEvent, refresh }: RelayRefresh): void {
  const callbacks = useRef({ onEvent, refresh });
  callbacks.current = { onEvent, refresh };
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel || !enabled) return;
    const run = debounce(() => callbacks.current.refresh());
    const stop = listenToRelay(channel, {
      onUp: () => undefined,
      onEvent: (name, ids) => {
        if (callbacks.current.onEvent(name, ids)) run();
      },
    });
    return () => {
      stop();
      run.cancel();
    };
  }, [channel, enabled]);
}
