import { useEffect, useRef, useState } from 'react';
import { listenToRelay } from '@/api/relay';

/** Calls `onCompleted` when the store says this session is complete. Answers whether the channel is up. */
export function useRelay(sessionId: string, appPid: string | undefined, onCompleted: () => void): boolean {
  const [up, setUp] = useState(false);
  const call = useRef(onCompleted);
  call.current = onCompleted;
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? appPid;
  useEffect(() => {
    if (!channel) return;
    return listenToRelay(channel, {
      onUp: setUp,
      onEvent: (name, { id }) => {
        if (name === 'checkout.session.completed' && id === sessionId) call.current();
      },
    });
  }, [channel, sessionId]);
  return up;
}
