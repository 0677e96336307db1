import { type FormEvent, useEffect, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Button } from '@/kit/button';
import { TextField } from '@/kit/field';
import { Spinner } from '@/kit/icons';
import { setLocale } from '@/lib/locale';
import { AccountPanel, NewAccount } from './account-panel';
import { Permissions } from './permissions';
import { ProfileFields } from './profile-fields';
import { parseRequestUrl } from './request';
import { RequestView } from './request-view';
import { t } from './text';
import { type Accounts, type Keys, useAccounts, useBalance, useKeys } from './use-wallet';
import './wallet.css';

const initialRequestUrl = () => {
  const text = new URLSearchParams(window.location.search).get('url');
  return text ? parseRequestUrl(text, window.location.origin) : null;
};

/** A wallet for test mode. It uses DID Connect like any wallet, and stores its keys in this browser. */
export function WalletPage() {
  const locale = useLocale();
  const keys = useKeys();
  const accounts = useAccounts();
  const [address, setAddress] = useState(initialRequestUrl);
  const account = accounts.current;

  useEffect(() => {
    document.documentElement.lang = locale;
    document.title = t('title');
  }, [locale]);

  return (
    <div className="wallet">
      <header>
        <h1>{t('title')}</h1>
        <span className="wallet-badge">{t('badge')}</span>
        <button
          type="button"
          className="k-icon-button"
          lang={locale === 'zh' ? 'en' : 'zh'}
          onClick={() => setLocale(locale === 'zh' ? 'en' : 'zh')}
        >
          {locale === 'zh' ? 'English' : '中文'}
        </button>
      </header>
      <main>
        {!account && <FirstAccount keys={keys} accounts={accounts} />}
        {account && address && !keys && (
          <section className="wallet-card wallet-wait" aria-busy="true">
            <Spinner />
            <p role="status">{t('libraries')}</p>
          </section>
        )}
        {account && address && keys && (
          <RequestView
            key={address}
            keys={keys}
            address={address}
            accounts={accounts}
            account={account}
            onBack={() => setAddress(null)}
          />
        )}
        {account && !address && <Home keys={keys} accounts={accounts} onRequest={setAddress} />}
      </main>
    </div>
  );
}

function FirstAccount({ keys, accounts }: { keys: Keys | null; accounts: Accounts }) {
  return (
    <section className="wallet-card">
      <p>{t('lead')}</p>
      <NewAccount keys={keys} accounts={accounts} />
    </section>
  );
}

interface HomeProps {
  keys: Keys | null;
  accounts: Accounts;
  onRequest: (address: string) => void;
}

function Home({ keys, accounts, onRequest }: HomeProps) {
  const account = accounts.current;
  const balance = useBalance(account?.address);
  if (!account) return null;
  return (
    <>
      <RequestInput onRequest={onRequest} />
      <AccountPanel keys={keys} accounts={accounts} account={account} balance={balance} />
      <section className="wallet-card" aria-labelledby="profile-heading">
        <h2 id="profile-heading">{t('profile')}</h2>
        <ProfileFields
          items={['fullName', 'email', 'phone']}
          account={account}
          errors={{}}
          onChange={accounts.change}
        />
      </section>
      {/* The last part, because it appears once the ledger has answered. */}
      <Permissions key={account.address} keys={keys} account={account} />
    </>
  );
}

function RequestInput({ onRequest }: { onRequest: (address: string) => void }) {
  const [text, setText] = useState('');
  const [isInvalid, setInvalid] = useState(false);
  const open = (event: FormEvent) => {
    event.preventDefault();
    const address = parseRequestUrl(text, window.location.origin);
    setInvalid(!address);
    if (address) onRequest(address);
    else document.getElementById('paste')?.focus();
  };
  return (
    <section className="wallet-card" aria-labelledby="paste-heading">
      <h2 id="paste-heading">{t('paste')}</h2>
      <form className="wallet-fields" noValidate onSubmit={open}>
        <TextField
          id="paste"
          label={t('pasteLabel')}
          hint={t('pasteHint')}
          value={text}
          error={isInvalid ? t('pasteInvalid') : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value);
            setInvalid(false);
          }}
        />
        <Button type="submit">{t('pasteOpen')}</Button>
      </form>
    </section>
  );
}
