import { useEffect, useState } from 'react';
import { Warning } from './icons';

const DURATION_MS = 6000;
type Listener = (text: string) => void;
const listeners = new Set<Listener>();

/** Shows a message briefly. It duplicates text on the page, so it is hidden from screen readers. */
export function toast(text: string): void {
  for (const listener of listeners) listener(text);
}

export function Toasts() {
  const [toasts, setToasts] = useState<{ id: number; text: string }[]>([]);
  useEffect(() => {
    let next = 0;
    const timers = new Set<ReturnType<typeof setTimeout>>();
    const listener: Listener = (text) => {
      const id = next++;
      setToasts((current) => [...current.slice(-2), { id, text }]);
      timers.add(setTimeout(() => setToasts((current) => current.filter((toast) => toast.id !== id)), DURATION_MS));
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      for (const timer of timers) clearTimeout(timer);
    };
  }, []);
  return (
    <div className="k-toasts" aria-hidden="true">
      {toasts.map(({ id, text }) => (
        <p key={id} className="k-toast">
          <Warning />
          {text}
        </p>
      ))}
    </div>
  );
}
