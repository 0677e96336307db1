import { useEffect, useRef } from 'react';
import type { Subscription } from '@/api/types';
import { Alert } from '@/kit/alert';
import type { Key } from './texts';

/** What every dialog about a subscription is given. */
export interface DialogProps {
  subscription: Subscription;
  onClose: () => void;
  /** It is done: the page asks again and says so, in words of the dialog's own if it has some. */
  onDone: (said?: Key) => void;
}

/** What failed, inside the dialog, where the eyes are: takes the focus, so that it is read and seen. */
export function Failure({ title, text }: { title: string; text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.focus({ preventScroll: true });
    // At the edge it would stand under the buttons, which stay in sight.
    place.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <Alert tone="danger" urgent title={title} ref={place}>
      <p>{text}</p>
    </Alert>
  );
}
