import { useEffect, useState } from 'react';
import { Warning } from './icons';

const SHOWN_MS = 6000;
type Listener = (text: string) => void;
const listeners = new Set<Listener>();

/** Shows a sentence for a moment. It only repeats what stands on the page, so screen readers are spared it. */
export function toast(text: string): void {
  for (const listener of listeners) listener(text);
}

export function Toasts() {
  const [shown, setShown] = useState<{ id: number; text: string }[]>([]);
  useEffect(() => {
    let next = 0;
    const timers = new Set<ReturnType<typeof setTimeout>>();
    const listener: Listener = (text) => {
      const id = next++;
      setShown((all) => [...all.slice(-2), { id, text }]);
      timers.add(setTimeout(() => setShown((all) => all.filter((it) => it.id !== id)), SHOWN_MS));
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      for (const timer of timers) clearTimeout(timer);
    };
  }, []);
  return (
    <div className="k-toasts" aria-hidden="true">
      {shown.map(({ id, text }) => (
        <p key={id} className="k-toast">
          <Warning />
          {text}
        </p>
      ))}
    </div>
  );
}
