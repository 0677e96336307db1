import { useEffect, useMemo, useRef, useState } from 'react';
import { translateProblem } from '@/i18n/translate';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Spinner } from '@/kit/icons';
import { AccountPanel } from './account-panel';
import { ProfileFields, profileErrors } from './profile-fields';
import { accept, ask, decline, type Reply } from './request';
import { ClaimText, covers, demandOf } from './request-fields';
import { UNREAD, useAmounts } from './strings';
import { t } from './text';
import { type Accounts, type Keys, useBalance } from './use-wallet';
import type { Account, Claim, Envelope } from './wire';

/** Time to read "Done" before a window that a store opened closes itself. */
const CLOSE_MS = 1200;

type Step =
  | { name: 'reading' }
  | { name: 'asked'; envelope: Envelope; claims: Claim[]; number: number }
  | { name: 'sending'; number: number }
  | { name: 'ended'; declined: boolean; message?: string }
  | { name: 'failed'; text: string };

interface RequestViewProps {
  keys: Keys;
  address: string;
  accounts: Accounts;
  account: Account;
  onOther: () => void;
}

function failureText(reply: Extract<Reply, { name: 'failed' }>): string {
  return reply.why === 'problem' ? translateProblem(reply.problem) : t(`error.${reply.why}`);
}

/** One request of a store, step by step, until it is answered. */
export function RequestView({ keys, address, accounts, account, onOther }: RequestViewProps) {
  const [step, setStep] = useState<Step>({ name: 'reading' });
  const [appName, setAppName] = useState('');
  const [round, setRound] = useState(0);
  const asking = useRef(account);
  asking.current = account;

  const apply = (reply: Reply, number: number, declined = false) => {
    if (reply.name === 'failed') setStep({ name: 'failed', text: failureText(reply) });
    else if (reply.name === 'done') {
      setStep({ name: 'ended', declined, message: reply.message });
      announce(t('done.title'));
      if (window.opener) setTimeout(() => window.close(), CLOSE_MS);
    } else {
      if (reply.envelope.appInfo?.name) setAppName(reply.envelope.appInfo.name);
      setStep({ name: 'asked', envelope: reply.envelope, claims: reply.claims, number });
    }
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the account may change while the request stays.
  useEffect(() => {
    let gone = false;
    setStep({ name: 'reading' });
    ask(keys, address, asking.current).then((reply) => {
      if (!gone) apply(reply, 1);
    });
    return () => {
      gone = true;
    };
  }, [keys, address, round]);

  const answer = async (yes: boolean) => {
    if (step.name !== 'asked') return;
    const { envelope, number } = step;
    setStep({ name: 'sending', number });
    try {
      apply(await (yes ? accept : decline)(keys, envelope, address, account), number + 1, !yes);
    } catch (error) {
      setStep({ name: 'failed', text: error instanceof Error ? error.message : String(error) });
    }
  };

  switch (step.name) {
    case 'reading':
    case 'sending':
      return (
        <section className="wallet-card wallet-wait" aria-busy="true">
          <Spinner />
          <p role="status">{t(step.name === 'reading' ? 'loading' : 'sending')}</p>
        </section>
      );
    case 'asked':
      return (
        <Asked
          key={step.envelope.challenge}
          keys={keys}
          step={step}
          account={account}
          accounts={accounts}
          appName={appName}
          onAnswer={answer}
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
            <Button wide onClick={onOther}>
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
          <Button variant="primary" wide onClick={() => setRound(round + 1)}>
            {t('error.retry')}
          </Button>
          <Button wide onClick={onOther}>
            {t('otherRequest')}
          </Button>
        </section>
      );
  }
}

interface AskedProps {
  keys: Keys;
  step: Extract<Step, { name: 'asked' }>;
  account: Account;
  accounts: Accounts;
  appName: string;
  onAnswer: (yes: boolean) => void;
}

function Asked({ keys, step, account, accounts, appName, onAnswer }: AskedProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [tried, setTried] = useState(false);
  const balance = useBalance(account.address);
  const demands = useMemo(
    () => step.claims.map((claim) => ({ claim, demand: demandOf(keys, claim, account) })),
    [keys, step.claims, account],
  );
  const needed = demands.flatMap(({ demand }) => demand.tokens);
  const amount = useAmounts(needed);
  const items = step.claims.flatMap((claim) => (claim.type === 'profile' ? (claim.items ?? []) : []));
  const errors = profileErrors(account.profile, items);
  const refused = demands.some(({ demand }) => demand.refusal);
  // Nobody agrees to an amount before it can be read.
  const reading = needed.length > 0 && (balance.tokens === null || amount.includes(UNREAD));
  const enough = covers(balance.tokens, needed);
  const signIn = step.claims.every((claim) => claim.type === 'authPrincipal' || claim.type === 'profile');

  useEffect(() => heading.current?.focus(), []);

  const onAccept = () => {
    setTried(true);
    if (Object.keys(errors).length === 0) onAnswer(true);
    else document.getElementById(`profile_${Object.keys(errors)[0]}`)?.focus();
  };
  const kinds = new Set(demands.map(({ demand }) => demand.intention?.kind));
  const pays =
    kinds.has('transfer') || !kinds.has('stake') ? t('acceptPay', { amount }) : t('acceptDeposit', { amount });
  const agrees = kinds.has('delegate') ? t('acceptDelegate') : t('accept');
  const label = needed.length > 0 ? pays : signIn ? t('acceptSignIn') : agrees;

  return (
    <>
      <section className="wallet-card" aria-labelledby="request-heading">
        <div>
          {step.number > 1 && <p className="k-hint">{t('step', { n: step.number })}</p>}
          <h2 id="request-heading" ref={heading} tabIndex={-1}>
            {t('request', { name: appName })}
          </h2>
        </div>
        {demands.map(({ claim, demand }, index) => (
          <ClaimText
            // biome-ignore lint/suspicious/noArrayIndexKey: the claims of one challenge never change places.
            key={index}
            {...{ keys, claim, demand, account, appName }}
            appDid={step.envelope.appInfo?.publisher?.replace(/^did:abt:/, '')}
          />
        ))}
        {items.length > 0 && (
          <ProfileFields items={items} account={account} errors={tried ? errors : {}} onChange={accounts.change} />
        )}
        {!enough && <Alert severity="warn">{t('balanceLow')}</Alert>}
        <div className="wallet-answers">
          <Button onClick={() => onAnswer(false)}>{t('decline')}</Button>
          <Button variant="primary" loading={reading} disabled={refused || !enough} onClick={onAccept}>
            {label}
          </Button>
        </div>
      </section>
      <AccountPanel keys={keys} accounts={accounts} account={account} balance={balance} />
    </>
  );
}
