import { useEffect, useRef, useState } from 'react';

/** Calls `onCompleted` when the store says this session is complete. Answers whether the channel is up. */
export function useRelay(sessionId: string, appPid: string | undefined, onCompleted: () => void): boolean {
  const [up, setUp] = useState(false);
  const call = useRef(onCompleted);
  call.current = onCompleted;
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel) return;
    let stop: (() => void) | undefined;
    let gone = false;
    // The page is there before the channel is; without it the page polls.
    import('@/api/relay')
      .then(({ listenToRelay }) => {
        if (gone) return;
        stop = listenToRelay(channel, {
          onUp: setUp,
          onEvent: (name, { id }) => {
            if (name === 'checkout.session.completed' && id === sessionId) call.current();
          },
        });
      })
      .catch(() => undefined);
    return () => {
      gone = true;
      stop?.();
    };
  }, [channel, sessionId]);
  return up;
}
