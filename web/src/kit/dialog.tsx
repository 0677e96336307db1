import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react';
import { Close } from './icons';

export interface DialogProps {
  title: ReactNode;
  closeLabel: string;
  onClose: () => void;
  /** While something must not be interrupted: Esc, backdrop and the close button do nothing. */
  locked?: boolean;
  children: ReactNode;
}

/**
 * A modal dialog on the browser's own: it keeps focus inside, makes the rest inert, and gives focus back to
 * where it was. Render it to open it.
 */
export function Dialog({ title, closeLabel, onClose, locked = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    // Reading begins with the title, unless the content names its first field.
    (dialog?.querySelector<HTMLElement>('[data-first]') ?? heading.current)?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  // A second Esc would close the dialog over our head, and the key may arrive anywhere: it is answered here alone. By the time the
  // close button can be seen to work, the key does.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      // One that is open inside this one is meant.
      if (!locked && !ref.current?.querySelector('dialog[open]')) onClose();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [locked, onClose]);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is the backdrop's; Esc is the same by key.
    <dialog
      ref={ref}
      className="k-dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (!locked) onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current && !locked) onClose();
      }}
    >
      <div className="k-dialog-body">
        <header>
          <h2 id={titleId} ref={heading} tabIndex={-1}>
            {title}
          </h2>
          <button type="button" className="k-icon-button" onClick={onClose} disabled={locked} aria-label={closeLabel}>
            <Close />
          </button>
        </header>
        {children}
        <div role="status" className="sr-only" data-announcer />
      </div>
    </dialog>
  );
}
