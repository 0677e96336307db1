import { useState } from 'react';
import { Button } from '@/kit/button';
import { SelectField } from '@/kit/field';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { short } from './accounts';
import { askFaucet, chainId, sendTransaction } from './ledger';
import { type Key, t } from './text';
import type { Accounts, Keys, useBalance } from './use-wallet';
import type { Account, KeyKind } from './wire';

interface AccountPanelProps {
  keys: Keys | null;
  accounts: Accounts;
  account: Account;
  balance: ReturnType<typeof useBalance>;
}

/** Which account answers, what it holds, and the faucet that fills it. */
export function AccountPanel({ keys, accounts, account, balance }: AccountPanelProps) {
  const [adding, setAdding] = useState(false);
  return (
    <section className="wallet-card" aria-labelledby="account-heading">
      <h2 id="account-heading">{t('account')}</h2>
      <SelectField
        id="account"
        label={t('accounts')}
        labelSrOnly
        value={account.address}
        onChange={(event) => accounts.choose(event.target.value)}
      >
        {accounts.list.map((it) => (
          <option key={it.address} value={it.address}>
            {it.name} · {short(it.address)}
          </option>
        ))}
      </SelectField>
      <dl className="wallet-facts">
        <dt>{t('address')}</dt>
        <dd className="wallet-code">{account.address}</dd>
        <dt>{t('balance')}</dt>
        <dd className="money" data-testid="balance">
          <Balance tokens={balance.tokens} />
        </dd>
      </dl>
      <Faucet keys={keys} account={account} balance={balance} />
      {adding ? (
        <NewAccount keys={keys} accounts={accounts} onDone={() => setAdding(false)} />
      ) : (
        <Button variant="quiet" onClick={() => setAdding(true)}>
          {t('create')}
        </Button>
      )}
    </section>
  );
}

function Balance({ tokens }: { tokens: AccountPanelProps['balance']['tokens'] }) {
  if (tokens === null) return <>…</>;
  if (tokens === 'unknown') return <>{t('balanceUnknown')}</>;
  if (tokens.length === 0) return <>{t('balanceNone')}</>;
  return <>{tokens.map((token) => formatMoney(token.value, token, locale())).join(' + ')}</>;
}

interface FaucetProps {
  keys: Keys | null;
  account: Account;
  balance: ReturnType<typeof useBalance>;
}

/** Fills the account, or empties it into where its tokens came from. */
function Faucet({ keys, account, balance }: FaucetProps) {
  const [busy, setBusy] = useState(false);
  const [message, setMessage] = useState('');
  const move = async (moving: () => Promise<void>, done: Key, failed: Key) => {
    setBusy(true);
    setMessage('');
    try {
      await moving();
      setMessage(t(done));
      balance.refresh();
    } catch (error) {
      setMessage(t(failed, { message: error instanceof Error ? error.message : String(error) }));
    }
    setBusy(false);
  };
  const held = Array.isArray(balance.tokens) ? balance.tokens : [];
  const giveBack = async () => {
    if (!keys) return;
    const chain = await chainId();
    for (const { address, value } of held) {
      await sendTransaction(await keys.transfer(account, address, { address, value }, chain));
    }
  };
  return (
    <div>
      <Button wide loading={busy} onClick={() => move(() => askFaucet(account.address), 'faucetDone', 'faucetFailed')}>
        {busy ? t('faucetBusy') : t('faucet')}
      </Button>
      <p className="k-hint wallet-said" role="status">
        {message}
      </p>
      {held.length > 0 && (
        <>
          <Button
            variant="quiet"
            wide
            disabled={busy || !keys}
            aria-describedby="give-back"
            onClick={() => move(giveBack, 'gaveBack', 'giveBackFailed')}
          >
            {t('giveBack')}
          </Button>
          <p id="give-back" className="k-hint">
            {t('giveBackHint')}
          </p>
        </>
      )}
    </div>
  );
}

const KINDS: KeyKind[] = ['ed25519', 'ethereum', 'secp256k1'];

/** A new key pair. The first account is one tap away; the kind of key is for those who care. */
export function NewAccount({ keys, accounts, onDone }: { keys: Keys | null; accounts: Accounts; onDone?: () => void }) {
  const [kind, setKind] = useState<KeyKind>('ed25519');
  const first = accounts.list.length === 0;
  const create = () => {
    if (!keys) return;
    accounts.create(keys, kind, t('accountNamed', { n: accounts.list.length + 1 }));
    onDone?.();
  };
  return (
    <div className="wallet-fields">
      <SelectField
        id="key-kind"
        label={t('keyType')}
        hint={t('createHint')}
        value={kind}
        onChange={(event) => setKind(event.target.value as KeyKind)}
      >
        {KINDS.map((it) => (
          <option key={it} value={it}>
            {t(`keyType.${it}`)}
          </option>
        ))}
      </SelectField>
      <Button variant="primary" wide loading={!keys} onClick={create}>
        {keys ? t(first ? 'createFirst' : 'create') : t('libraries')}
      </Button>
    </div>
  );
}
