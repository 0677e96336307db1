import { useEffect, useState } from 'react';
import { Skeleton } from '@/kit/skeleton';
import { t } from '../text';

/** SPEC.md 9: only a wait longer than this is worth a word. */
const LATE_MS = 500;

/** What the server wrote into the page, in the places of what is to come: it stays until the order is there. */
const written = [...document.querySelectorAll('.checkout-opening > main > *')];

/** The order in grey, in the places and sizes of the real one; where the page came with the order itself, that. */
export function Loading({ minimal }: { minimal: boolean }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (written.length > 0) {
    return (
      <>
        <p role="status" className="sr-only">
          {late ? t('state.loading') : ''}
        </p>
        <div className="checkout-written" ref={(place) => place?.replaceChildren(...written)} />
      </>
    );
  }
  return (
    <div className="checkout-columns" data-testid="skeleton">
      <h1 className="sr-only">{t('title.checkout')}</h1>
      <p role="status" className="sr-only">
        {late ? t('state.loading') : ''}
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
