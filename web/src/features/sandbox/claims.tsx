import { useEffect, useState } from 'react';
import { Alert } from '@/kit/alert';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { short } from './accounts';
import { tokenState } from './ledger';
import { type Key, t } from './text';
import { type Intention, noteOf, type TokenAmount, totals } from './transaction';
import type { Keys } from './use-wallet';
import type { Account, Claim, Token } from './wire';

export interface Demand {
  /** Tokens that accepting would take from the account. */
  tokens: TokenAmount[];
  /** What is asked cannot be done, or is not what it says it is. */
  refusal: string | null;
  intention: Intention | null;
}

const KNOWN = new Set(['authPrincipal', 'profile', 'signature', 'prepareTx', 'agreement']);

/** Reads what a claim would really do, from the bytes that would be signed. */
export function demandOf(keys: Keys, claim: Claim, account: Account): Demand {
  const none: Demand = { tokens: [], refusal: null, intention: null };
  if (!KNOWN.has(claim.type)) return { ...none, refusal: t('ask.unknown', { type: claim.type }) };
  if (claim.type === 'authPrincipal') {
    const target = claim.target?.replace(/^did:abt:/, '');
    const other = target && target !== account.address;
    return { ...none, refusal: other ? t('error.mismatch') : null };
  }
  const encoded = claim.type === 'prepareTx' ? claim.partialTx : isTransaction(claim) ? claim.origin : undefined;
  if (!encoded) return none;
  try {
    const { from, intention } = keys.readTransaction(encoded);
    const tokens = claim.requirement?.tokens ?? [];
    const honest = from === account.address && (claim.type !== 'prepareTx' || asksForWhatItMoves(intention, tokens));
    return { tokens, refusal: honest ? null : t('ask.mismatch'), intention };
  } catch {
    return { ...none, refusal: t('ask.mismatch') };
  }
}

const isTransaction = (claim: Claim) => claim.type === 'signature' && claim.typeUrl === 'fg:t:transaction';

/** The tokens it asks for must be the ones that reach the receivers, no more. */
function asksForWhatItMoves(intention: Intention, required: TokenAmount[]): boolean {
  if (intention.kind === 'stake') return true;
  if (intention.kind !== 'transfer') return false;
  const sorted = (list: TokenAmount[]) =>
    JSON.stringify(totals([list]).sort((a, b) => a.address.localeCompare(b.address)));
  const paid = totals(intention.outputs.map((output) => output.tokens));
  return sorted(paid) === sorted(required);
}

/** Amounts in the words of their token; the token's own address while its name is being read. */
export function useAmounts(tokens: TokenAmount[]): string {
  const [units, setUnits] = useState<Record<string, { symbol: string; decimal: number }>>({});
  const wanted = tokens.map((token) => token.address).join(',');
  useEffect(() => {
    for (const address of wanted.split(',').filter(Boolean)) {
      tokenState(address).then(
        (unit) => setUnits((all) => ({ ...all, [address]: unit })),
        () => undefined,
      );
    }
  }, [wanted]);
  return tokens
    .map(({ address, value }) => {
      const unit = units[address];
      return unit ? formatMoney(value, unit, locale()) : `${value} × ${short(address)}`;
    })
    .join(' + ');
}

interface ClaimProps {
  keys: Keys;
  claim: Claim;
  demand: Demand;
  account: Account;
  appName: string;
}

/** One claim in plain words. */
export function ClaimText({ keys, claim, demand, account, appName }: ClaimProps) {
  const amount = useAmounts(demand.tokens);
  if (demand.refusal) {
    return (
      <Alert tone="danger" urgent title={demand.refusal}>
        {claim.type === 'authPrincipal' && claim.target && (
          <p>{t('ask.authTarget', { name: appName, account: short(claim.target) })}</p>
        )}
      </Alert>
    );
  }
  switch (claim.type) {
    case 'authPrincipal':
      return <Lead text={t('ask.authPrincipal', { name: appName, account: account.name })} note={claim.description} />;
    case 'profile': {
      const items = (claim.items ?? []).filter((item) => item !== 'avatar');
      const names = items.map((item) => t(`ask.item.${item}` as Key));
      return <Lead text={t('ask.profile', { items: listed(names) })} note={claim.description} />;
    }
    case 'prepareTx':
      return (
        <Spending intention={demand.intention} amount={amount} account={account} appName={appName} claim={claim} />
      );
    case 'agreement':
      return (
        <>
          <Lead text={t('ask.agreement')} note={claim.description} />
          {claim.uri && <p className="wallet-code">{claim.uri}</p>}
        </>
      );
    default:
      return <Signing keys={keys} claim={claim} intention={demand.intention} />;
  }
}

const listed = (names: string[]) =>
  new Intl.ListFormat(locale() === 'zh' ? 'zh-Hans' : 'en', { type: 'conjunction' }).format(names);

function Lead({ text, note }: { text: string; note?: string }) {
  return (
    <div>
      <p className="wallet-lead">{text}</p>
      {note && <p className="k-hint">{note}</p>}
    </div>
  );
}

function Spending({
  intention,
  amount,
  account,
  appName,
  claim,
}: Omit<ClaimProps, 'keys' | 'demand'> & { intention: Intention | null; amount: string }) {
  const stake = intention?.kind === 'stake';
  const receivers =
    intention?.kind === 'transfer' ? intention.outputs.map((it) => it.owner) : stake ? [intention.receiver] : [];
  const note = intention && 'data' in intention ? noteOf(intention.data) : null;
  const purpose =
    claim.description ||
    Object.values(note ?? {})
      .filter((it) => typeof it === 'string')
      .join(' · ');
  return (
    <>
      <p className="wallet-lead money">{t(stake ? 'ask.stake' : 'ask.pay', { amount })}</p>
      <dl className="wallet-facts">
        <dt>{t('ask.payTo')}</dt>
        <dd>
          {appName}
          {receivers.map((address) => (
            <span key={address} className="wallet-code">
              {address}
            </span>
          ))}
        </dd>
        <dt>{t('ask.payFrom')}</dt>
        <dd>
          {account.name} <span className="wallet-code">{account.address}</span>
        </dd>
        {purpose && (
          <>
            <dt>{t('ask.payFor')}</dt>
            <dd>{purpose}</dd>
          </>
        )}
      </dl>
    </>
  );
}

function Signing({ keys, claim, intention }: { keys: Keys; claim: Claim; intention: Intention | null }) {
  const limits = intention?.kind === 'delegate' ? intention.limits : [];
  const amount = useAmounts(limits.map(({ address, txAllowance }) => ({ address, value: txAllowance })));
  if (intention?.kind === 'delegate') {
    const limited = limits.some((limit) => limit.txAllowance !== '0');
    return (
      <Lead
        text={t('ask.delegate', { to: short(intention.to) })}
        note={limited ? t('ask.delegateLimit', { amount }) : t('ask.delegateNoLimit')}
      />
    );
  }
  if (intention) {
    const kind = intention.kind === 'other' ? intention.typeUrl : intention.kind;
    return <Lead text={t('ask.signTransaction', { kind })} note={claim.description} />;
  }
  if (claim.digest) {
    return (
      <>
        <Lead text={t('ask.signDigest')} note={claim.description} />
        <p className="wallet-code">{claim.digest}</p>
      </>
    );
  }
  return (
    <>
      <Lead text={t('ask.sign')} note={claim.description} />
      <pre className="wallet-code">{keys.plainText(claim.origin ?? '')}</pre>
    </>
  );
}

/** Is there enough of everything that is asked for? Unknown balances do not stand in the way; the ledger decides. */
export function covers(tokens: Token[] | 'unknown' | null, needed: TokenAmount[]): boolean {
  if (tokens === null || tokens === 'unknown') return true;
  return totals([needed]).every(({ address, value }) => {
    const held = tokens.find((token) => token.address === address);
    return BigInt(held?.value ?? '0') >= BigInt(value);
  });
}
