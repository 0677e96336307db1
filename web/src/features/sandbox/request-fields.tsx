import { Alert } from '@/kit/alert';
import { locale } from '@/lib/locale';
import { short } from './accounts';
import { Deposit, Permission } from './consents';
import { Lead, useAmounts } from './strings';
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
    const tokens = tokensOf(claim, intention);
    const honest = from === account.address && (claim.type !== 'prepareTx' || asksForWhatItMoves(intention, tokens));
    return { tokens, refusal: honest ? null : t('ask.mismatch'), intention };
  } catch {
    return { ...none, refusal: t('ask.mismatch') };
  }
}

/** The type is that of transactions, or that of the one inside. */
const isTransaction = (claim: Claim) => claim.type === 'signature' && claim.typeUrl?.startsWith('fg:t:');

/** What is prepared takes what its requirement names; what is signed as it came takes what stands in it. */
function tokensOf(claim: Claim, intention: Intention): TokenAmount[] {
  const required = claim.requirement?.tokens ?? [];
  const given = 'inputs' in intention ? totals(intention.inputs.map((input) => input.tokens)) : required;
  return claim.type === 'prepareTx' ? required : given;
}

/** The tokens it asks for must be the ones that reach the receivers, no more. */
function asksForWhatItMoves(intention: Intention, required: TokenAmount[]): boolean {
  if (intention.kind === 'stake') return true;
  if (intention.kind === 'delegate') return required.length === 0;
  if (intention.kind !== 'transfer') return false;
  const sorted = (list: TokenAmount[]) =>
    JSON.stringify(totals([list]).sort((a, b) => a.address.localeCompare(b.address)));
  const paid = totals(intention.outputs.map((output) => output.tokens));
  return sorted(paid) === sorted(required);
}

interface ClaimProps {
  keys: Keys;
  claim: Claim;
  demand: Demand;
  account: Account;
  appName: string;
  /** The store's own account, where it says which. */
  appDid?: string;
}

/** One claim in plain words. */
export function ClaimText({ keys, claim, demand, account, appName, appDid }: ClaimProps) {
  const amount = useAmounts(demand.tokens);
  if (demand.refusal) {
    return (
      <Alert severity="danger" urgent title={demand.refusal}>
        {claim.type === 'authPrincipal' && claim.target && (
          <p>{t('ask.authTarget', { name: appName, account: short(claim.target) })}</p>
        )}
      </Alert>
    );
  }
  const { intention } = demand;
  if (intention?.kind === 'delegate') return <Permission intention={intention} claim={claim} appName={appName} />;
  if (intention?.kind === 'stake') {
    return <Deposit intention={intention} amount={amount} claim={claim} appName={appName} />;
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
      return <Spending {...{ intention, amount, account, appName, appDid, claim }} />;
    case 'agreement':
      return (
        <>
          <Lead text={t('ask.agreement')} note={claim.description} />
          {claim.uri && <p className="wallet-code">{claim.uri}</p>}
        </>
      );
    default:
      return <Signing keys={keys} claim={claim} intention={intention} />;
  }
}

const listed = (names: string[]) =>
  new Intl.ListFormat(locale() === 'zh' ? 'zh-Hans' : 'en', { type: 'conjunction' }).format(names);

function Spending({
  intention,
  amount,
  account,
  appName,
  appDid,
  claim,
}: Omit<ClaimProps, 'keys' | 'demand'> & { intention: Intention | null; amount: string }) {
  const receivers = intention?.kind === 'transfer' ? intention.outputs.map((it) => it.owner) : [];
  // What a store asks for may be somebody else's.
  const others = appDid !== undefined && receivers.some((address) => address !== appDid);
  const note = intention && 'data' in intention ? noteOf(intention.data) : null;
  const purpose =
    claim.description ||
    Object.values(note ?? {})
      .filter((it) => typeof it === 'string')
      .join(' · ');
  return (
    <>
      <p className="wallet-lead money">{t('ask.pay', { amount })}</p>
      <dl className="wallet-facts">
        <dt>{t('ask.payTo')}</dt>
        <dd>
          {others ? null : appName}
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
