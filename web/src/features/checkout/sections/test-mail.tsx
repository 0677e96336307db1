import { useEffect, useState } from 'react';
import { api, embeddedStore } from '@/api/client';
import type { EmailConfirmation } from '@/api/types';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { t } from '../completed-text';

const PATH = '/api/customers/me/email-confirmation';

interface TestMailProps {
  email: string;
  /** What the page says if the address is confirmed. */
  sent: string;
}

/** Where the emails of a test order went: to the address only if it is confirmed. Offers to confirm it. */
export function TestMail({ email, sent }: TestMailProps) {
  const hasServer = embeddedStore?.mail_server !== false;
  const [state, setState] = useState<EmailConfirmation>();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!hasServer) return;
    // Without an answer, the page does not know where the email went, and says nothing about it.
    api.get<EmailConfirmation>(PATH).then(setState, () => undefined);
  }, [hasServer]);
  const request = async () => {
    setBusy(true);
    setProblem('');
    try {
      setState(await api.post<EmailConfirmation>(PATH));
      announce(t('testMail.linkSent', { email }));
    } catch (error) {
      setProblem(translateError(error));
    }
    setBusy(false);
  };
  if (!hasServer) return <p className="checkout-detail">{t('testMail.noServer')}</p>;
  if (!state) return null;
  // The customer may have entered another address since.
  const isCurrent = state.email === email;
  if (isCurrent && state.confirmed) return <p className="checkout-detail">{sent}</p>;
  return (
    <>
      <p className="checkout-detail">{t('testMail.folder', { email })}</p>
      {isCurrent && state.requested && <p className="checkout-detail">{t('testMail.linkSent', { email })}</p>}
      {isCurrent && !state.requested && (
        <div className="checkout-actions">
          <Button loading={isBusy} onClick={request}>
            {t('testMail.confirm')}
          </Button>
        </div>
      )}
      {problem && (
        <p className="checkout-detail" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
