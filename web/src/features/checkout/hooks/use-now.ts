import { useEffect, useState } from 'react';

const seconds = () => Math.floor(Date.now() / 1000);

/** Unix seconds, renewed every `everyMs` and when the page is looked at again. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(seconds);
  useEffect(() => {
    const renew = () => setNow(seconds());
    const timer = setInterval(renew, everyMs);
    document.addEventListener('visibilitychange', renew);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', renew);
    };
  }, [everyMs]);
  return now;
}
