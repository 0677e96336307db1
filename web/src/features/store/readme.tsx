import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import styles from './readme.module.css';

/** Written by developers: links leave in a tab of their own and hand on no reputation; images come from secure places only. */
const components: Components = {
  // The page has its own h1, the section its h2.
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
  // A wide table scrolls by itself; the keyboard must be able to reach it.
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus.
    <section className={styles.scroll} tabIndex={0} aria-label="table">
      <table>{children}</table>
    </section>
  ),
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus.
    <pre tabIndex={0}>{children}</pre>
  ),
  // Of a task list only the marks are left; they cannot be ticked here.
  input: ({ checked }) => <span>{checked ? '☑ ' : '☐ '}</span>,
};

/** Markdown without raw HTML; addresses other than http(s), mail and in-page ones are dropped by the parser. */
export default function Readme({ source }: { source: string }) {
  return (
    <div className={styles.readme}>
      <Markdown skipHtml remarkPlugins={[remarkGfm]} components={components}>
        {source}
      </Markdown>
    </div>
  );
}
