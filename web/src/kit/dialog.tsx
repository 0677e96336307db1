import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react';
import { Close } from './icons';

export interface DialogProps {
  title: ReactNode;
  closeLabel: string;
  onClose: () => void;
  /** Disables Esc, the backdrop and the close button. */
  locked?: boolean;
  children: ReactNode;
}

/**
 * A modal based on `<dialog>`: it traps focus, makes the rest of the page inert and restores focus on close. It is open
 * while rendered.
 */
export function Dialog({ title, closeLabel, onClose, locked = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    const previousFocus = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    // Focuses the title, or the element marked as the first field.
    (dialog?.querySelector<HTMLElement>('[data-first]') ?? heading.current)?.focus();
    return () => {
      dialog?.close();
      if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus();
    };
  }, []);

  // The browser closes a dialog on a second Esc despite `onCancel`, so the key is handled here, wherever the focus is.
  // A layout effect makes Esc work as soon as the close button is enabled.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      // A nested dialog handles the key itself.
      if (!locked && !ref.current?.querySelector('dialog[open]')) onClose();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [locked, onClose]);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is on the backdrop; Esc is its keyboard equivalent.
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
