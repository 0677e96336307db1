import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import styles from './readme.module.css';

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
  // A wide table scrolls; keyboard users must be able to focus it.
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
