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
  const [state, setState] = useState<EmailConfirmation | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!hasServer) return;
    // Without an answer, the page only says where the email is.
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
  // The customer may have entered another address since.
  if (state?.confirmed && state.email === email) return <p className="checkout-detail">{sent}</p>;
  return (
    <>
      <p className="checkout-detail">{t('testMail.folder', { email })}</p>
      {state?.email === email && (
        <p className="checkout-detail" role="status">
          {state.requested ? t('testMail.linkSent', { email }) : problem}
        </p>
      )}
      {state?.email === email && !state.requested && (
        <Button loading={isBusy} onClick={request}>
          {t('testMail.confirm')}
        </Button>
      )}
    </>
  );
}
