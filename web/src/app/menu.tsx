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
  /** The choice that holds now. */
  current?: boolean;
  /** A line above it. */
  apart?: boolean;
}

interface MenuProps<K extends string> {
  /** What the button is called, for it may show nothing but an icon. */
  label: string;
  button: ReactNode;
  className?: string;
  entries: MenuEntry<K>[];
  onChoose: (key: K) => void;
}

/** So far from the edge of the window an open menu keeps. */
const MARGIN_PX = 8;

/** A button that opens a list of choices: by mouse, by touch, and by arrow keys, Home, End and Esc. */
export function Menu<K extends string>({ label, button, className, entries, onChoose }: MenuProps<K>) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  const close = (giveBack: boolean) => {
    setOpen(false);
    if (giveBack) opener.current?.focus();
  };

  // It opens below the start of its button and moves back into the window where that is too far to the right.
  useLayoutEffect(() => {
    const menu = list.current;
    if (!open || !menu) return;
    const beyond = menu.getBoundingClientRect().right - (document.documentElement.clientWidth - MARGIN_PX);
    if (beyond > 0) menu.style.insetInlineStart = `${-beyond}px`;
    menu.querySelector<HTMLElement>('[aria-current], [role="menuitem"]')?.focus();
  }, [open]);

  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
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
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Escape') close(true);
    // Focus goes on from where the menu stands in the page.
    else if (event.key === 'Tab') close(false);
    else if (next !== undefined) items.at(next % items.length)?.focus();
    if (event.key === 'Escape' || next !== undefined) event.preventDefault();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the button and the menu inside.
    <div ref={place} className={styles.place} onKeyDown={onKeyDown}>
      <button
        ref={opener}
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
          {entries.map(({ key, label: text, icon, current, apart }) => (
            <Fragment key={key}>
              {apart ? <hr className={styles.divider} /> : null}
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
