import { Alert } from '@/kit/alert';
import { Lead, useAmounts } from './strings';
import { t } from './text';
import type { Intention } from './transaction';
import type { Claim } from './wire';

const DAY = 86_400;

interface PromiseProps<Kind extends Intention['kind']> {
  intention: Extract<Intention, { kind: Kind }>;
  claim: Claim;
  appName: string;
}

/** What a store may take later without asking: the limits, or that there are none. */
export function Permission({ intention, claim, appName }: PromiseProps<'delegate'>) {
  const amount = useAmounts(intention.allowances, ' / ');
  return (
    <>
      {intention.allowances.length > 0 && <Lead text={t('ask.delegate', { amount })} note={claim.description} />}
      {intention.unlimited && <Alert severity="warn" title={t('ask.delegateNoLimit')} />}
      {intention.others.length > 0 && (
        <Alert severity="warn" title={t('ask.delegateMore', { types: intention.others.join(', ') })} />
      )}
      <Receiver appName={appName} address={intention.to} />
    </>
  );
}

/** What a store holds for the account, and when it comes back. */
export function Deposit({ intention, claim, appName, amount }: PromiseProps<'stake'> & { amount: string }) {
  const count = Math.ceil(intention.revokeWaitingPeriod / DAY);
  const text = count > 0 ? t('ask.deposit', { amount, count }) : t('ask.depositAtOnce', { amount });
  return (
    <>
      <Lead text={text} note={claim.description} />
      {intention.slashers.length > 0 && <p className="k-hint">{t('ask.depositTaken')}</p>}
      {intention.locked && <Alert severity="warn" title={t('ask.depositLocked')} />}
      <Receiver appName={appName} address={intention.receiver} />
    </>
  );
}

function Receiver({ appName, address }: { appName: string; address: string }) {
  return (
    <dl className="wallet-facts">
      <dt>{t('ask.payTo')}</dt>
      <dd>
        {appName} <span className="wallet-code">{address}</span>
      </dd>
    </dl>
  );
}
