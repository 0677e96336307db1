import type { ReactNode } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { useTexts } from '@/app/i18n';
import styles from './readme.module.css';

/** A wide table scrolls; keyboard users must be able to focus it. */
function ScrollingTable({ children }: { children?: ReactNode }) {
  const { t } = useTexts();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus.
    <section className={styles.scroll} tabIndex={0} aria-label={t('readme.table')}>
      <table>{children}</table>
    </section>
  );
}

/** Developers write readmes: links open in a new tab with nofollow, and images need https or the same origin. */
const components: Components = {
  // The page uses h1 and h2 itself.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="nofollow ugc noopener noreferrer">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === 'string' && /^(https:|\/[^/])/.test(src) ? <img src={src} alt={alt ?? ''} loading="lazy" /> : null,
  table: ({ children }) => <ScrollingTable>{children}</ScrollingTable>,
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus.
    <pre tabIndex={0}>{children}</pre>
  ),
  // Task lists show symbols; they cannot be checked.
  input: ({ checked }) => <span>{checked ? '☑ ' : '☐ '}</span>,
};

/** Markdown without raw HTML. The parser drops URLs other than http(s), mailto and anchors. */
export default function Readme({ source }: { source: string }) {
  return (
    <div className={styles.readme}>
      <Markdown skipHtml remarkPlugins={[remarkGfm]} components={components}>
        {source}
      </Markdown>
    </div>
  );
}
