import { Alert } from '@/kit/alert';
import { Lead, useAmounts } from './strings';
import { t } from './text';
import type { ParsedTransaction } from './transaction';
import type { Claim } from './types';

const DAY = 86_400;

interface ConsentProps<Kind extends ParsedTransaction['kind']> {
  parsed: Extract<ParsedTransaction, { kind: Kind }>;
  claim: Claim;
  appName: string;
}

/** A delegation: the limits of later payments without confirmation, or a warning that there are none. */
export function DelegationConsent({ parsed, claim, appName }: ConsentProps<'delegate'>) {
  const amount = useAmounts(parsed.allowances, ' / ');
  return (
    <>
      {parsed.allowances.length > 0 && <Lead text={t('request.delegate', { amount })} note={claim.description} />}
      {parsed.unlimited && <Alert severity="warn" title={t('request.delegateNoLimit')} />}
      {parsed.others.length > 0 && (
        <Alert severity="warn" title={t('request.delegateMore', { types: parsed.others.join(', ') })} />
      )}
      <Recipient appName={appName} address={parsed.to} />
    </>
  );
}

/** A refundable deposit, and when it is returned. */
export function DepositConsent({ parsed, claim, appName, amount }: ConsentProps<'stake'> & { amount: string }) {
  const count = Math.ceil(parsed.revokeWaitingPeriod / DAY);
  const text = count > 0 ? t('request.deposit', { amount, count }) : t('request.depositAtOnce', { amount });
  return (
    <>
      <Lead text={text} note={claim.description} />
      {parsed.slashers.length > 0 && <p className="k-hint">{t('request.depositDeductible')}</p>}
      {parsed.locked && <Alert severity="warn" title={t('request.depositLocked')} />}
      <Recipient appName={appName} address={parsed.receiver} />
    </>
  );
}

function Recipient({ appName, address }: { appName: string; address: string }) {
  return (
    <dl className="wallet-facts">
      <dt>{t('request.payTo')}</dt>
      <dd>
        {appName} <span className="wallet-code">{address}</span>
      </dd>
    </dl>
  );
}
