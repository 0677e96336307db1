import { useEffect, useState } from 'react';

/** The current time in milliseconds. The page is rendered again when `until` has passed, such as the end of a claim. */
export function useNow(until: string | null): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (until === null) return;
    const wait = Date.parse(until) - Date.now();
    setNow(Date.now());
    if (!(wait > 0)) return;
    // A claim lasts a day, far less than the longest timeout.
    const timer = setTimeout(() => setNow(Date.now()), wait);
    return () => clearTimeout(timer);
  }, [until]);
  return now;
}
