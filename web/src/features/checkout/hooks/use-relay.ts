import { useEffect, useRef, useState } from 'react';

/** Calls `onCompleted` when the session is complete. Returns whether the relay is connected. */
export function useRelay(sessionId: string, appPid: string | undefined, onCompleted: () => void): boolean {
  const [up, setUp] = useState(false);
  const callback = useRef(onCompleted);
  callback.current = onCompleted;
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel) return;
    let stop: (() => void) | undefined;
    let unmounted = false;
    // Loaded after the page, which polls until then.
    import('@/api/relay')
      .then(({ listenToRelay }) => {
        if (unmounted) return;
        stop = listenToRelay(channel, {
          onUp: setUp,
          onEvent: (name, { id }) => {
            if (name === 'checkout.session.completed' && id === sessionId) callback.current();
          },
        });
      })
      .catch(() => undefined);
    return () => {
      unmounted = true;
      stop?.();
    };
  }, [channel, sessionId]);
  return up;
}
