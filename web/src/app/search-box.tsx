import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTexts } from '@/app/i18n';
import { Close } from '@/kit/icons';
import { Search } from '@/kit/store-icons';
import styles from './search-box.module.css';

/** SPEC.md 9. */
const SEARCH_DEBOUNCE_MS = 300;

/** Typing searches at once where apps are listed; elsewhere it waits for Enter, so that nobody is carried off a page. */
export function SearchBox() {
  const { t } = useTexts();
  const navigate = useNavigate();
  const { pathname, search } = useRouterState({ select: (state) => state.location });
  const listing = pathname === '/' || pathname === '/search' || pathname.startsWith('/category/');
  const asked = listing ? ((search as { keyword?: string }).keyword ?? '') : '';
  const [text, setText] = useState(asked);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<number>(undefined);
  const sent = useRef(asked);

  // A keyword that came by a link or the back button replaces what was typed; our own echo does not.
  useEffect(() => {
    if (asked !== sent.current) setText(asked);
    sent.current = asked;
  }, [asked]);

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (
        event.key !== '/' ||
        typing ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        document.querySelector('dialog[open]')
      )
        return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener('keydown', focus);
    return () => window.removeEventListener('keydown', focus);
  }, []);

  useEffect(() => () => window.clearTimeout(timer.current), []);

  const go = (keyword: string) => {
    window.clearTimeout(timer.current);
    const trimmed = keyword.trim();
    sent.current = trimmed;
    if (pathname.startsWith('/category/')) {
      void navigate({
        to: '.',
        search: (kept: object) => ({ ...kept, keyword: trimmed || undefined, page: undefined }),
        replace: true,
      } as never);
    } else if (pathname === '/search' || trimmed) {
      const kept = pathname === '/search' ? (search as object) : {};
      void navigate({
        to: '/search',
        search: { ...kept, keyword: trimmed || undefined, page: undefined },
        replace: pathname === '/search',
      });
    }
  };

  const change = (value: string) => {
    setText(value);
    window.clearTimeout(timer.current);
    if (listing) timer.current = window.setTimeout(() => go(value), SEARCH_DEBOUNCE_MS);
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    go(text);
  };

  return (
    <search className={styles.place}>
      <form className={styles.search} onSubmit={submit}>
        <Search className={styles.glass} />
        <input
          ref={input}
          type="text"
          inputMode="search"
          enterKeyHint="search"
          autoComplete="off"
          name="keyword"
          aria-label={t('header.search')}
          aria-keyshortcuts="/"
          placeholder={t('header.searchPlaceholder')}
          value={text}
          onChange={(event) => change(event.target.value)}
        />
        {text ? (
          <button
            type="button"
            aria-label={t('header.clear')}
            onClick={() => {
              setText('');
              go('');
              input.current?.focus();
            }}
          >
            <Close size="1em" />
          </button>
        ) : (
          <span className={styles.key} title={t('header.searchKey')}>
            /
          </span>
        )}
      </form>
    </search>
  );
}
