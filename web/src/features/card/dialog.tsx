import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { StripeContext } from '@/api/types';
import { loadErrorMessages } from '@/i18n/translate';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { Spinner } from '@/kit/icons';
import { Skeleton } from '@/kit/skeleton';
import { CardForm } from './form';
import { authenticate, type CardOutcome, type CardTarget, confirmCard, declineText, isSandboxKey } from './processor';
import { type CardValues, digitsOf, expiryOf } from './rules';
import { type Key, t } from './text';
import '@/kit/kit.css';
import './card.css';

const StripeForm = lazy(() => import('./stripe-form'));

export interface CardSettings {
  publishable_key: string;
  api_host?: string;
}

/** The cardholder's contact details; a field that is unknown is empty or absent. */
export interface CardContact {
  name: string;
  email: string;
  phone?: string;
  country?: string | null;
  postalCode?: string | null;
  state?: string;
  city?: string;
  line1?: string;
  line2?: string;
}

export interface CardDialogProps {
  /** The amount to pay; not shown when the card is only saved. */
  amount?: string;
  settings: CardSettings;
  context: StripeContext;
  contact: CardContact;
  /** Return URL of a redirect to the bank; defaults to this page. */
  returnUrl?: string;
  onAccepted: () => void;
  onClose: () => void;
}

type Step =
  | { name: 'form'; error: string | null }
  | { name: 'processing' }
  | { name: 'challenge' }
  | { name: 'sandboxOff' };

/** Collects the card. The browser sends it straight to the processor; our server never sees it. */
export default function CardDialog(props: CardDialogProps) {
  const { amount = '', settings, context, contact, onAccepted, onClose } = props;
  const [step, setStep] = useState<Step>({ name: 'form', error: null });
  const [isConfirming, setConfirming] = useState(false);
  const [values, setValues] = useState<CardValues>({ number: '', expiry: '', cvc: '', name: contact.name });
  const target: CardTarget = {
    host: settings.api_host ?? '',
    key: settings.publishable_key,
    clientSecret: context.client_secret,
    kind: context.intent_type,
  };

  // The processor responds to the browser directly, so the API client does not load the messages.
  useEffect(() => void loadErrorMessages(), []);

  const isSaving = target.kind === 'setup_intent';
  const action = isSaving ? t('save') : t('pay', { amount });

  const apply = (outcome: CardOutcome) => {
    if (outcome.name === 'challenge') setStep({ name: 'challenge' });
    else if (outcome.name === 'sandboxOff') setStep({ name: 'sandboxOff' });
    else if (outcome.name === 'declined') setStep({ name: 'form', error: declineText(outcome.error) });
    else onAccepted();
  };
  const confirm = async (card: CardValues) => {
    setValues(card);
    setStep({ name: 'processing' });
    const expiry = expiryOf(card.expiry);
    apply(
      await confirmCard(target, {
        number: digitsOf(card.number),
        expMonth: expiry?.month ?? '',
        expYear: expiry?.year ?? '',
        cvc: card.cvc.trim(),
        name: card.name.trim(),
        email: contact.email,
        postalCode: contact.postalCode ?? undefined,
        country: contact.country ?? undefined,
      }),
    );
  };
  const finishChallenge = async (success: boolean) => {
    setStep({ name: 'processing' });
    apply(await authenticate(target, success));
  };

  const titles = { form: t('title'), processing: t('title'), challenge: t('challengeTitle'), sandboxOff: t('title') };
  return (
    <Dialog
      title={titles[step.name]}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={isConfirming || step.name === 'processing'}
    >
      {isSandboxKey(target.key) ? (
        <>
          {step.name === 'form' && (
            <CardForm action={action} initial={values} decline={step.error} onConfirm={confirm} />
          )}
          {step.name === 'processing' && <Processing onWatch={onAccepted} />}
          {step.name === 'challenge' && (
            <Challenge
              text={isSaving ? t('challengeSave') : t('challengeText', { amount })}
              onAnswer={finishChallenge}
            />
          )}
          {step.name === 'sandboxOff' && (
            <Alert severity="warn" urgent title={t('sandboxOffTitle')}>
              <p>{t('sandboxOffText')}</p>
            </Alert>
          )}
        </>
      ) : (
        <Suspense fallback={<Skeleton height={220} />}>
          <StripeForm
            action={action}
            target={target}
            contact={contact}
            returnUrl={props.returnUrl ?? window.location.href}
            onConfirming={setConfirming}
            onAccepted={onAccepted}
          />
        </Suspense>
      )}
    </Dialog>
  );
}

const SLOW_MS = 3000;
const LONG_MS = 20_000;

/** Shown while the bank responds. After a while the user can continue on the page, which checks for the outcome. */
function Processing({ onWatch }: { onWatch: () => void }) {
  const [text, setText] = useState<Key>('working');
  useEffect(() => {
    const timers = [
      setTimeout(() => setText('stillWorking'), SLOW_MS),
      setTimeout(() => setText('longWorking'), LONG_MS),
    ];
    return () => timers.forEach(clearTimeout);
  }, []);
  useEffect(() => announce(t(text)), [text]);
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => container.current?.focus(), []);
  return (
    <div ref={container} tabIndex={-1} className="card-processing" aria-busy="true">
      <Spinner />
      <p>{t(text)}</p>
      {text === 'longWorking' && <Button onClick={onWatch}>{t('watch')}</Button>}
    </div>
  );
}

function Challenge({ text, onAnswer }: { text: string; onAnswer: (success: boolean) => void }) {
  return (
    <div className="card-form">
      <p>{text}</p>
      <Button variant="primary" wide onClick={() => onAnswer(true)} autoFocus>
        {t('challengeComplete')}
      </Button>
      <Button variant="danger" wide onClick={() => onAnswer(false)}>
        {t('challengeFail')}
      </Button>
    </div>
  );
}
