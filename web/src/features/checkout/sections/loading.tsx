import { useEffect, useState } from 'react';
import { Skeleton } from '@/kit/skeleton';
import { t } from '../text';

/** SPEC.md 9: only a longer wait is announced. */
const LATE_MS = 500;

/** The order prerendered by the server; it stays until the order has loaded. */
const prerendered = [...document.querySelectorAll('.checkout-shell > main > *')];

/** The loading state: the prerendered order if available, else a skeleton of the same size. */
export function Loading({ minimal }: { minimal: boolean }) {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (prerendered.length > 0) {
    return (
      <>
        <p role="status" className="sr-only">
          {isLate ? t('state.loading') : ''}
        </p>
        <div className="checkout-prerendered" ref={(container) => container?.replaceChildren(...prerendered)} />
      </>
    );
  }
  return (
    <div className="checkout-columns" data-testid="skeleton">
      <h1 className="sr-only">{t('title.checkout')}</h1>
      <p role="status" className="sr-only">
        {isLate ? t('state.loading') : ''}
      </p>
      {!minimal && (
        <div className="checkout-summary">
          <div className="checkout-summary-inner checkout-loading">
            <Skeleton height={44} width={44} />
            <Skeleton height={22} width="45%" />
            <Skeleton height={48} width="60%" />
            <Skeleton height={64} />
            <Skeleton height={64} />
          </div>
        </div>
      )}
      <div className="checkout-form">
        <div className="checkout-form-inner checkout-loading">
          <Skeleton height={22} width="40%" />
          <Skeleton height={60} />
          <Skeleton height={60} />
          <Skeleton height={70} />
          <Skeleton height={70} />
          <Skeleton height={48} />
        </div>
      </div>
    </div>
  );
}
