import { ArrowLeftOutlined } from '@ant-design/icons';
import { createLink } from '@tanstack/react-router';
import { type AnchorHTMLAttributes, forwardRef } from 'react';
import styles from './pages.module.css';

/** The link above a page that leads back to an address. */
export const BackAnchor = forwardRef<HTMLAnchorElement, AnchorHTMLAttributes<HTMLAnchorElement>>(function BackAnchor(
  { children, ...rest },
  ref,
) {
  return (
    <a {...rest} ref={ref} className={styles.back}>
      <ArrowLeftOutlined aria-hidden="true" /> {children}
    </a>
  );
});

/** The same link for a route of the store. */
export const BackLink = createLink(BackAnchor);
