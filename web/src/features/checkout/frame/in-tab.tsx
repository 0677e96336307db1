import { useState } from 'react';
import { useLocale } from '@/i18n/light';
import { ButtonLink } from '@/kit/button';
import { Spinner } from '@/kit/icons';
import { mountPrefix } from '../rules/view';
import { t } from './text';

interface InTabProps {
  sessionId: string;
  /** The way to pay that is chosen here. */
  currencyId: string | undefined;
  /** The other tab is open: from now on this page looks what becomes of the order. */
  onLeave: () => void;
}

/** Where nobody can sign in: the same order in a tab of its own, and what to do meanwhile. */
export function InTab({ sessionId, currencyId, onLeave }: InTabProps) {
  const locale = useLocale();
  const [left, setLeft] = useState(false);
  const query = new URLSearchParams({ locale, ...(currencyId ? { currencyId } : {}) });
  const leave = () => {
    setLeft(true);
    onLeave();
  };
  return (
    <>
      <div role="status">
        <p className="checkout-detail frame-note">
          {left && <Spinner />}
          {t(left ? 'waiting' : 'why')}
        </p>
      </div>
      <div className="checkout-pay">
        <ButtonLink
          wide
          variant={left ? 'secondary' : 'primary'}
          target="_blank"
          rel="noopener"
          href={`${mountPrefix(window.location.pathname)}/checkout/pay/${sessionId}?${query}`}
          onClick={leave}
        >
          {t(left ? 'again' : 'go')}
        </ButtonLink>
      </div>
    </>
  );
}
