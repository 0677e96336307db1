import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTexts } from '@/app/i18n';
import { Close } from '@/kit/icons';
import { Search } from '@/kit/store-icons';
import styles from './search-box.module.css';

/** SPEC.md 9. */
const SEARCH_DEBOUNCE_MS = 300;

/** Searches while typing on list pages. Other pages wait for Enter, so that typing does not navigate away. */
export function SearchBox() {
  const { t } = useTexts();
  const navigate = useNavigate();
  const { pathname, search: params } = useRouterState({ select: (state) => state.location });
  const isListing = pathname === '/' || pathname === '/search' || pathname.startsWith('/category/');
  const keywordParam = isListing ? ((params as { keyword?: string }).keyword ?? '') : '';
  const [text, setText] = useState(keywordParam);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<number>(undefined);
  const lastSent = useRef(keywordParam);

  // A keyword from a link or the back button replaces the typed text; our own navigation does not.
  useEffect(() => {
    if (keywordParam !== lastSent.current) setText(keywordParam);
    lastSent.current = keywordParam;
  }, [keywordParam]);

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

  const search = (keyword: string) => {
    window.clearTimeout(timer.current);
    const trimmed = keyword.trim();
    lastSent.current = trimmed;
    if (pathname.startsWith('/category/')) {
      void navigate({
        to: '.',
        search: (previous: object) => ({ ...previous, keyword: trimmed || undefined, page: undefined }),
        replace: true,
      } as never);
    } else if (pathname === '/search' || trimmed) {
      const previous = pathname === '/search' ? (params as object) : {};
      void navigate({
        to: '/search',
        search: { ...previous, keyword: trimmed || undefined, page: undefined },
        replace: pathname === '/search',
      });
    }
  };

  const change = (value: string) => {
    setText(value);
    window.clearTimeout(timer.current);
    if (isListing) timer.current = window.setTimeout(() => search(value), SEARCH_DEBOUNCE_MS);
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    search(text);
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
              search('');
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
