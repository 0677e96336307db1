import { useEffect, useState } from 'react';

const seconds = () => Math.floor(Date.now() / 1000);

/** The current Unix time, updated every `everyMs` and when the page becomes visible. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(seconds);
  useEffect(() => {
    const update = () => setNow(seconds());
    const timer = setInterval(update, everyMs);
    document.addEventListener('visibilitychange', update);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', update);
    };
  }, [everyMs]);
  return now;
}
