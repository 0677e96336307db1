import {
  Fragment,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import styles from './menu.module.css';

export interface MenuEntry<K extends string> {
  key: K;
  label: ReactNode;
  icon: ReactNode;
  /** The current choice. */
  current?: boolean;
  /** Draws a divider above the entry. */
  divided?: boolean;
}

interface MenuProps<K extends string> {
  /** The accessible name of the button, which may show only an icon. */
  label: string;
  button: ReactNode;
  className?: string;
  entries: MenuEntry<K>[];
  onChoose: (key: K) => void;
}

/** Minimum distance between an open menu and the edge of the window. */
const MARGIN_PX = 8;

/** A menu button with mouse, touch and keyboard support (arrow keys, Home, End, Esc). */
export function Menu<K extends string>({ label, button, className, entries, onChoose }: MenuProps<K>) {
  const [open, setOpen] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  const close = (restoreFocus: boolean) => {
    setOpen(false);
    if (restoreFocus) trigger.current?.focus();
  };

  // The menu aligns with the start of its button, and shifts left if it would leave the window.
  useLayoutEffect(() => {
    const menu = list.current;
    if (!open || !menu) return;
    const overflow = menu.getBoundingClientRect().right - (document.documentElement.clientWidth - MARGIN_PX);
    if (overflow > 0) menu.style.insetInlineStart = `${-overflow}px`;
    menu.querySelector<HTMLElement>('[aria-current], [role="menuitem"]')?.focus();
  }, [open]);

  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent) => {
      if (!container.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      event.preventDefault();
      setOpen(true);
      return;
    }
    const items = [...(list.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const index = items.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Escape') close(true);
    // Tab moves the focus on from the menu's position in the page.
    else if (event.key === 'Tab') close(false);
    else if (next !== undefined) items.at(next % items.length)?.focus();
    if (event.key === 'Escape' || next !== undefined) event.preventDefault();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the button and the menu inside.
    <div ref={container} className={styles.place} onKeyDown={onKeyDown}>
      <button
        ref={trigger}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open ? (
        <div ref={list} id={id} role="menu" aria-label={label} className={styles.menu}>
          {entries.map(({ key, label: text, icon, current, divided }) => (
            <Fragment key={key}>
              {divided ? <hr className={styles.divider} /> : null}
              <button
                type="button"
                role="menuitem"
                tabIndex={-1}
                aria-current={current ? 'true' : undefined}
                onClick={() => {
                  close(true);
                  onChoose(key);
                }}
              >
                {icon}
                {text}
              </button>
            </Fragment>
          ))}
        </div>
      ) : null}
    </div>
  );
}
