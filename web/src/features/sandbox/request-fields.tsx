import { Alert } from '@/kit/alert';
import { locale } from '@/lib/locale';
import { shortAddress } from './accounts';
import { DelegationConsent, DepositConsent } from './consents';
import { Lead, useAmounts } from './strings';
import { type Key, t } from './text';
import { noteOf, type ParsedTransaction, type TokenAmount, totals } from './transaction';
import type { Account, Claim } from './types';
import type { Keys, Tokens } from './use-wallet';

export interface ClaimDetails {
  /** The tokens that the account would pay. */
  tokens: TokenAmount[];
  /** The claim is unsupported, or its transaction differs from its description. */
  error: string | null;
  parsed: ParsedTransaction | null;
}

const KNOWN = new Set(['authPrincipal', 'profile', 'signature', 'prepareTx', 'agreement']);

/** Inspects a claim by the bytes that would be signed. */
export function inspectClaim(keys: Keys, claim: Claim, account: Account): ClaimDetails {
  const nothing: ClaimDetails = { tokens: [], error: null, parsed: null };
  if (!KNOWN.has(claim.type)) return { ...nothing, error: t('request.unknown', { type: claim.type }) };
  if (claim.type === 'authPrincipal') {
    const target = claim.target?.replace(/^did:abt:/, '');
    const isOtherAccount = target && target !== account.address;
    return { ...nothing, error: isOtherAccount ? t('error.mismatch') : null };
  }
  const encoded = claim.type === 'prepareTx' ? claim.partialTx : isTransaction(claim) ? claim.origin : undefined;
  if (!encoded) return nothing;
  try {
    const { from, parsed } = keys.readTransaction(encoded);
    const tokens = tokensOf(claim, parsed);
    const isConsistent = from === account.address && (claim.type !== 'prepareTx' || matchesOutputs(parsed, tokens));
    return { tokens, error: isConsistent ? null : t('request.mismatch'), parsed };
  } catch {
    return { ...nothing, error: t('request.mismatch') };
  }
}

/** A signature claim for a transaction, by its type or the type of its content. */
const isTransaction = (claim: Claim) => claim.type === 'signature' && claim.typeUrl?.startsWith('fg:t:');

/** A prepared transaction pays its requirement; a finished one pays its inputs. */
function tokensOf(claim: Claim, parsed: ParsedTransaction): TokenAmount[] {
  const required = claim.requirement?.tokens ?? [];
  const inputTokens = 'inputs' in parsed ? totals(parsed.inputs.map((input) => input.tokens)) : required;
  return claim.type === 'prepareTx' ? required : inputTokens;
}

/** The required tokens must be exactly those that the recipients get. */
function matchesOutputs(parsed: ParsedTransaction, required: TokenAmount[]): boolean {
  if (parsed.kind === 'stake') return true;
  if (parsed.kind === 'delegate') return required.length === 0;
  if (parsed.kind !== 'transfer') return false;
  const normalize = (list: TokenAmount[]) =>
    JSON.stringify(totals([list]).sort((a, b) => a.address.localeCompare(b.address)));
  const paid = totals(parsed.outputs.map((output) => output.tokens));
  return normalize(paid) === normalize(required);
}

interface ClaimProps {
  keys: Keys;
  claim: Claim;
  details: ClaimDetails;
  account: Account;
  appName: string;
  /** The account of the store, if known. */
  appDid?: string;
}

/** Describes a claim. */
export function ClaimText({ keys, claim, details, account, appName, appDid }: ClaimProps) {
  const amount = useAmounts(details.tokens);
  if (details.error) {
    return (
      <Alert severity="danger" urgent title={details.error}>
        {claim.type === 'authPrincipal' && claim.target && (
          <p>{t('request.authTarget', { name: appName, account: shortAddress(claim.target) })}</p>
        )}
      </Alert>
    );
  }
  const { parsed } = details;
  if (parsed?.kind === 'delegate') return <DelegationConsent parsed={parsed} claim={claim} appName={appName} />;
  if (parsed?.kind === 'stake') {
    return <DepositConsent parsed={parsed} amount={amount} claim={claim} appName={appName} />;
  }
  switch (claim.type) {
    case 'authPrincipal':
      return (
        <Lead text={t('request.authPrincipal', { name: appName, account: account.name })} note={claim.description} />
      );
    case 'profile': {
      const items = (claim.items ?? []).filter((item) => item !== 'avatar');
      const names = items.map((item) => t(`request.item.${item}` as Key));
      return <Lead text={t('request.profile', { items: formatList(names) })} note={claim.description} />;
    }
    case 'prepareTx':
      return <PaymentDetails {...{ parsed, amount, account, appName, appDid, claim }} />;
    case 'agreement':
      return (
        <>
          <Lead text={t('request.agreement')} note={claim.description} />
          {claim.uri && <p className="wallet-code">{claim.uri}</p>}
        </>
      );
    default:
      return <SignatureDetails keys={keys} claim={claim} parsed={parsed} />;
  }
}

const formatList = (names: string[]) =>
  new Intl.ListFormat(locale() === 'zh' ? 'zh-Hans' : 'en', { type: 'conjunction' }).format(names);

function PaymentDetails({
  parsed,
  amount,
  account,
  appName,
  appDid,
  claim,
}: Omit<ClaimProps, 'keys' | 'details'> & { parsed: ParsedTransaction | null; amount: string }) {
  const recipients = parsed?.kind === 'transfer' ? parsed.outputs.map((each) => each.owner) : [];
  // The payment can go to an account other than the store's.
  const isOtherPayee = appDid !== undefined && recipients.some((address) => address !== appDid);
  const note = parsed && 'data' in parsed ? noteOf(parsed.data) : null;
  const purpose =
    claim.description ||
    Object.values(note ?? {})
      .filter((each) => typeof each === 'string')
      .join(' · ');
  return (
    <>
      <p className="wallet-lead money">{t('request.pay', { amount })}</p>
      <dl className="wallet-facts">
        <dt>{t('request.payTo')}</dt>
        <dd>
          {isOtherPayee ? null : appName}
          {recipients.map((address) => (
            <span key={address} className="wallet-code">
              {address}
            </span>
          ))}
        </dd>
        <dt>{t('request.payFrom')}</dt>
        <dd>
          {account.name} <span className="wallet-code">{account.address}</span>
        </dd>
        {purpose && (
          <>
            <dt>{t('request.payFor')}</dt>
            <dd>{purpose}</dd>
          </>
        )}
      </dl>
    </>
  );
}

function SignatureDetails({ keys, claim, parsed }: { keys: Keys; claim: Claim; parsed: ParsedTransaction | null }) {
  if (parsed) {
    const kind = parsed.kind === 'other' ? parsed.typeUrl : parsed.kind;
    return <Lead text={t('request.signTransaction', { kind })} note={claim.description} />;
  }
  if (claim.digest) {
    return (
      <>
        <Lead text={t('request.signDigest')} note={claim.description} />
        <p className="wallet-code">{claim.digest}</p>
      </>
    );
  }
  return (
    <>
      <Lead text={t('request.sign')} note={claim.description} />
      <pre className="wallet-code">{keys.plainText(claim.origin ?? '')}</pre>
    </>
  );
}

/** Whether the balance covers the needed tokens. Unknown balances count as sufficient, because the ledger decides. */
export function hasSufficientBalance(tokens: Tokens, needed: TokenAmount[]): boolean {
  if (!Array.isArray(tokens)) return true;
  return totals([needed]).every(({ address, value }) => {
    const token = tokens.find((each) => each.address === address);
    return BigInt(token?.value ?? '0') >= BigInt(value);
  });
}
