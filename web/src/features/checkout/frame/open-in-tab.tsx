import { useState } from 'react';
import { useLocale } from '@/i18n/light';
import { ButtonLink } from '@/kit/button';
import { Spinner } from '@/kit/icons';
import { mountPrefix } from '../rules/view';
import { t } from './text';

interface InTabProps {
  sessionId: string;
  /** The chosen currency. */
  currencyId: string | undefined;
  /** Called when the other tab opens; this page then polls the order. */
  onLeave: () => void;
}

/** Shown in iframes that block the session cookie: opens the order in a new tab. */
export function OpenInTab({ sessionId, currencyId, onLeave }: InTabProps) {
  const locale = useLocale();
  const [isOpened, setOpened] = useState(false);
  const query = new URLSearchParams({ locale, ...(currencyId ? { currencyId } : {}) });
  const open = () => {
    setOpened(true);
    onLeave();
  };
  return (
    <>
      <div role="status">
        <p className="checkout-detail frame-note">
          {isOpened && <Spinner />}
          {t(isOpened ? 'waiting' : 'why')}
        </p>
      </div>
      <div className="checkout-pay">
        <ButtonLink
          wide
          variant={isOpened ? 'secondary' : 'primary'}
          target="_blank"
          rel="noopener"
          href={`${mountPrefix(window.location.pathname)}/checkout/pay/${sessionId}?${query}`}
          onClick={open}
        >
          {t(isOpened ? 'again' : 'go')}
        </ButtonLink>
      </div>
    </>
  );
}
