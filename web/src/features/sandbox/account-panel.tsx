import { useState } from 'react';
import { Button } from '@/kit/button';
import { SelectField } from '@/kit/field';
import { formatMoney } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { shortAddress } from './accounts';
import { chainId, requestTokens, sendTransaction } from './ledger';
import { type Key, t } from './text';
import type { Account, KeyKind } from './types';
import type { Accounts, Keys, useBalance } from './use-wallet';

interface AccountPanelProps {
  keys: Keys | null;
  accounts: Accounts;
  account: Account;
  balance: ReturnType<typeof useBalance>;
}

/** The current account, its balance, and the faucet. */
export function AccountPanel({ keys, accounts, account, balance }: AccountPanelProps) {
  const [isAdding, setIsAdding] = useState(false);
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
        {accounts.list.map((each) => (
          <option key={each.address} value={each.address}>
            {each.name} · {shortAddress(each.address)}
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
      {isAdding ? (
        <NewAccount keys={keys} accounts={accounts} onDone={() => setIsAdding(false)} />
      ) : (
        <Button variant="quiet" onClick={() => setIsAdding(true)}>
          {t('create')}
        </Button>
      )}
    </section>
  );
}

function Balance({ tokens }: { tokens: AccountPanelProps['balance']['tokens'] }) {
  if (tokens === null) return <>…</>;
  if (tokens === 'off') return <>{t('off')}</>;
  if (tokens === 'unknown') return <>{t('balanceUnknown')}</>;
  if (tokens.length === 0) return <>{t('balanceNone')}</>;
  return <>{tokens.map((token) => formatMoney(token.value, token, locale())).join(' + ')}</>;
}

interface FaucetProps {
  keys: Keys | null;
  account: Account;
  balance: ReturnType<typeof useBalance>;
}

/** Requests test tokens from the faucet, or returns them. */
function Faucet({ keys, account, balance }: FaucetProps) {
  const [isBusy, setIsBusy] = useState(false);
  const [message, setMessage] = useState('');
  const run = async (transfer: () => Promise<void>, doneKey: Key, failedKey: Key) => {
    setIsBusy(true);
    setMessage('');
    try {
      await transfer();
      setMessage(t(doneKey));
      balance.refresh();
    } catch (error) {
      setMessage(t(failedKey, { message: error instanceof Error ? error.message : String(error) }));
    }
    setIsBusy(false);
  };
  const tokens = Array.isArray(balance.tokens) ? balance.tokens : [];
  const returnTokens = async () => {
    if (!keys) return;
    const chain = await chainId();
    for (const { address, value } of tokens) {
      await sendTransaction(await keys.transfer(account, address, { address, value }, chain));
    }
  };
  return (
    <div>
      <Button
        wide
        loading={isBusy}
        onClick={() => run(() => requestTokens(account.address), 'faucetDone', 'faucetFailed')}
      >
        {isBusy ? t('faucetBusy') : t('faucet')}
      </Button>
      <p className="k-hint wallet-status" role="status">
        {message}
      </p>
      {/* Shown before the balance has loaded, so that nothing below it moves. */}
      <Button
        variant="quiet"
        wide
        disabled={isBusy || !keys || tokens.length === 0}
        aria-describedby="return-hint"
        onClick={() => run(returnTokens, 'returned', 'returnFailed')}
      >
        {t('returnTokens')}
      </Button>
      <p id="return-hint" className="k-hint">
        {t('returnTokensHint')}
      </p>
    </div>
  );
}

const KINDS: KeyKind[] = ['ed25519', 'ethereum', 'secp256k1'];

/** Creates an account with a key type of choice. */
export function NewAccount({ keys, accounts, onDone }: { keys: Keys | null; accounts: Accounts; onDone?: () => void }) {
  const [kind, setKind] = useState<KeyKind>('ed25519');
  const isFirst = accounts.list.length === 0;
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
        {KINDS.map((each) => (
          <option key={each} value={each}>
            {t(`keyType.${each}`)}
          </option>
        ))}
      </SelectField>
      <Button variant="primary" wide loading={!keys} onClick={create}>
        {keys ? t(isFirst ? 'createFirst' : 'create') : t('libraries')}
      </Button>
    </div>
  );
}
