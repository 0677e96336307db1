import { useEffect, useMemo, useRef, useState } from 'react';
import { translateProblem } from '@/i18n/translate';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Spinner } from '@/kit/icons';
import { AccountPanel } from './account-panel';
import { ProfileFields, profileErrors } from './profile-fields';
import { accept, decline, fetchRequest, type Reply } from './request';
import { ClaimText, hasSufficientBalance, inspectClaim } from './request-fields';
import { LOADING_AMOUNT, useAmounts } from './strings';
import { t } from './text';
import type { Account, Claim, Envelope } from './types';
import { type Accounts, type Keys, useBalance } from './use-wallet';

/** Time to read "Done" before a popup window closes. */
const CLOSE_MS = 1200;

type Step =
  | { name: 'loading' }
  | { name: 'request'; envelope: Envelope; claims: Claim[]; number: number }
  | { name: 'sending'; number: number }
  | { name: 'ended'; declined: boolean; message?: string }
  | { name: 'failed'; text: string };

interface RequestViewProps {
  keys: Keys;
  address: string;
  accounts: Accounts;
  account: Account;
  onBack: () => void;
}

function errorText(reply: Extract<Reply, { name: 'failed' }>): string {
  return reply.reason === 'problem' ? translateProblem(reply.problem) : t(`error.${reply.reason}`);
}

/** Shows one request of a store, step by step, until it is completed. */
export function RequestView({ keys, address, accounts, account, onBack }: RequestViewProps) {
  const [step, setStep] = useState<Step>({ name: 'loading' });
  const [appName, setAppName] = useState('');
  const [attempt, setAttempt] = useState(0);
  const accountRef = useRef(account);
  accountRef.current = account;

  const apply = (reply: Reply, number: number, declined = false) => {
    if (reply.name === 'failed') setStep({ name: 'failed', text: errorText(reply) });
    else if (reply.name === 'done') {
      setStep({ name: 'ended', declined, message: reply.message });
      announce(t('done.title'));
      if (window.opener) setTimeout(() => window.close(), CLOSE_MS);
    } else {
      if (reply.envelope.appInfo?.name) setAppName(reply.envelope.appInfo.name);
      setStep({ name: 'request', envelope: reply.envelope, claims: reply.claims, number });
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: another account must not reload the request.
  useEffect(() => {
    let unmounted = false;
    setStep({ name: 'loading' });
    fetchRequest(keys, address, accountRef.current).then((reply) => {
      if (!unmounted) apply(reply, 1);
    });
    return () => {
      unmounted = true;
    };
  }, [keys, address, attempt]);

  const respond = async (isAccepted: boolean) => {
    if (step.name !== 'request') return;
    const { envelope, number } = step;
    setStep({ name: 'sending', number });
    try {
      apply(await (isAccepted ? accept : decline)(keys, envelope, address, account), number + 1, !isAccepted);
    } catch (error) {
      setStep({ name: 'failed', text: error instanceof Error ? error.message : String(error) });
    }
  };

  switch (step.name) {
    case 'loading':
    case 'sending':
      return (
        <section className="wallet-card wallet-wait" aria-busy="true">
          <Spinner />
          <p role="status">{t(step.name === 'loading' ? 'loading' : 'sending')}</p>
        </section>
      );
    case 'request':
      return (
        <RequestForm
          key={step.envelope.challenge}
          keys={keys}
          step={step}
          account={account}
          accounts={accounts}
          appName={appName}
          onRespond={respond}
        />
      );
    case 'ended':
      return (
        <section className="wallet-card">
          <Alert severity={step.declined ? 'info' : 'ok'} title={t('done.title')}>
            <p>{step.declined ? t('done.declined', { name: appName }) : t('done.text', { name: appName })}</p>
          </Alert>
          {window.opener ? (
            <Button variant="primary" wide onClick={() => window.close()}>
              {t('done.close')}
            </Button>
          ) : (
            <Button wide onClick={onBack}>
              {t('otherRequest')}
            </Button>
          )}
        </section>
      );
    default:
      return (
        <section className="wallet-card">
          <Alert severity="danger" urgent title={t('error.title')}>
            <p>{step.text}</p>
          </Alert>
          <Button variant="primary" wide onClick={() => setAttempt(attempt + 1)}>
            {t('error.retry')}
          </Button>
          <Button wide onClick={onBack}>
            {t('otherRequest')}
          </Button>
        </section>
      );
  }
}

interface RequestFormProps {
  keys: Keys;
  step: Extract<Step, { name: 'request' }>;
  account: Account;
  accounts: Accounts;
  appName: string;
  onRespond: (isAccepted: boolean) => void;
}

function RequestForm({ keys, step, account, accounts, appName, onRespond }: RequestFormProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [isSubmitted, setSubmitted] = useState(false);
  const balance = useBalance(account.address);
  const claimDetails = useMemo(
    () => step.claims.map((claim) => ({ claim, details: inspectClaim(keys, claim, account) })),
    [keys, step.claims, account],
  );
  const needed = claimDetails.flatMap(({ details }) => details.tokens);
  const amount = useAmounts(needed);
  const items = step.claims.flatMap((claim) => (claim.type === 'profile' ? (claim.items ?? []) : []));
  const errors = profileErrors(account.profile, items);
  const hasError = claimDetails.some(({ details }) => details.error);
  // The amount must be visible before the user can accept.
  const isLoadingAmounts = needed.length > 0 && (balance.tokens === null || amount.includes(LOADING_AMOUNT));
  const isSufficient = hasSufficientBalance(balance.tokens, needed);
  const isSignIn = step.claims.every((claim) => claim.type === 'authPrincipal' || claim.type === 'profile');

  useEffect(() => heading.current?.focus(), []);

  const onAccept = () => {
    setSubmitted(true);
    if (Object.keys(errors).length === 0) onRespond(true);
    else document.getElementById(`profile_${Object.keys(errors)[0]}`)?.focus();
  };
  const kinds = new Set(claimDetails.map(({ details }) => details.parsed?.kind));
  const payLabel =
    kinds.has('transfer') || !kinds.has('stake') ? t('acceptPay', { amount }) : t('acceptDeposit', { amount });
  const acceptLabel = kinds.has('delegate') ? t('acceptDelegate') : t('accept');
  const label = needed.length > 0 ? payLabel : isSignIn ? t('acceptSignIn') : acceptLabel;

  return (
    <>
      <section className="wallet-card" aria-labelledby="request-heading">
        <div>
          {step.number > 1 && <p className="k-hint">{t('step', { n: step.number })}</p>}
          <h2 id="request-heading" ref={heading} tabIndex={-1}>
            {t('request', { name: appName })}
          </h2>
        </div>
        {claimDetails.map(({ claim, details }, index) => (
          <ClaimText
            // biome-ignore lint/suspicious/noArrayIndexKey: the claims of a challenge have a fixed order.
            key={index}
            {...{ keys, claim, details, account, appName }}
            appDid={step.envelope.appInfo?.publisher?.replace(/^did:abt:/, '')}
          />
        ))}
        {items.length > 0 && (
          <ProfileFields
            items={items}
            account={account}
            errors={isSubmitted ? errors : {}}
            onChange={accounts.change}
          />
        )}
        <div className="wallet-actions">
          <Button onClick={() => onRespond(false)}>{t('decline')}</Button>
          <Button variant="primary" loading={isLoadingAmounts} disabled={hasError || !isSufficient} onClick={onAccept}>
            {label}
          </Button>
        </div>
        {/* Below the buttons, because it appears once the balance has loaded. */}
        {!isSufficient && <Alert severity="warn">{t('balanceLow')}</Alert>}
      </section>
      <AccountPanel keys={keys} accounts={accounts} account={account} balance={balance} />
    </>
  );
}
