import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { StripeContext } from '@/api/types';
import { loadErrorMessages } from '@/i18n/translate';
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

/** Who holds the card, as far as the page knows it. */
export interface CardContact {
  name: string;
  email: string;
  phone?: string;
  country: string;
  postalCode: string;
  state?: string;
  city?: string;
  line1?: string;
  line2?: string;
}

export interface CardDialogProps {
  /** What is paid; not shown when the card is only saved. */
  amount?: string;
  settings: CardSettings;
  context: StripeContext;
  contact: CardContact;
  /** Where a bank that takes over the page leads back to; this page if not given. */
  returnUrl?: string;
  onAccepted: () => void;
  onClose: () => void;
}

type Step = { name: 'form'; refusal: string | null } | { name: 'asking' } | { name: 'challenge' };

/** The card is asked for here and goes from the browser to its processor; our server never sees it. */
export default function CardDialog(props: CardDialogProps) {
  const { amount = '', settings, context, contact, onAccepted, onClose } = props;
  const [step, setStep] = useState<Step>({ name: 'form', refusal: null });
  const [asking, setAsking] = useState(false);
  const [values, setValues] = useState<CardValues>({ number: '', expiry: '', cvc: '', name: contact.name });
  const target: CardTarget = {
    host: settings.api_host ?? '',
    key: settings.publishable_key,
    clientSecret: context.client_secret,
    kind: context.intent_type,
  };

  // The processor answers the browser, not the store: its refusals come past the store's calls.
  useEffect(() => void loadErrorMessages(), []);

  const saving = target.kind === 'setup_intent';
  const action = saving ? t('save') : t('pay', { amount });

  const apply = (outcome: CardOutcome) => {
    if (outcome.name === 'challenge') setStep({ name: 'challenge' });
    else if (outcome.name === 'refused') setStep({ name: 'form', refusal: declineText(outcome.refusal) });
    else onAccepted();
  };
  const confirm = async (card: CardValues) => {
    setValues(card);
    setStep({ name: 'asking' });
    const expiry = expiryOf(card.expiry);
    apply(
      await confirmCard(target, {
        number: digitsOf(card.number),
        expMonth: expiry?.month ?? '',
        expYear: expiry?.year ?? '',
        cvc: card.cvc.trim(),
        name: card.name.trim(),
        email: contact.email,
        postalCode: contact.postalCode,
        country: contact.country,
      }),
    );
  };
  const answer = async (success: boolean) => {
    setStep({ name: 'asking' });
    apply(await authenticate(target, success));
  };

  const titles = { form: t('title'), asking: t('title'), challenge: t('challengeTitle') };
  return (
    <Dialog
      title={titles[step.name]}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={asking || step.name === 'asking'}
    >
      {isSandboxKey(target.key) ? (
        <>
          {step.name === 'form' && (
            <CardForm action={action} initial={values} refusal={step.refusal} onConfirm={confirm} />
          )}
          {step.name === 'asking' && <Asking onWatch={onAccepted} />}
          {step.name === 'challenge' && (
            <Challenge text={saving ? t('challengeSave') : t('challengeText', { amount })} onAnswer={answer} />
          )}
        </>
      ) : (
        <Suspense fallback={<Skeleton height={220} />}>
          <StripeForm
            action={action}
            target={target}
            contact={contact}
            returnUrl={props.returnUrl ?? window.location.href}
            onAsking={setAsking}
            onAccepted={onAccepted}
          />
        </Suspense>
      )}
    </Dialog>
  );
}

const SLOW_MS = 3000;
const LONG_MS = 20_000;

/** The bank is being asked: says so, says when it is slow, and lets go when it takes too long. */
function Asking({ onWatch }: { onWatch: () => void }) {
  const [text, setText] = useState<Key>('working');
  useEffect(() => {
    const timers = [
      setTimeout(() => setText('stillWorking'), SLOW_MS),
      setTimeout(() => setText('longWorking'), LONG_MS),
    ];
    return () => timers.forEach(clearTimeout);
  }, []);
  useEffect(() => announce(t(text)), [text]);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <div ref={place} tabIndex={-1} className="card-asking" aria-busy="true">
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
