import { useCallback, useEffect, useState } from 'react';
import { Button } from '@/kit/button';
import { chainId, permissions, sendTransaction } from './ledger';
import { useAmounts } from './strings';
import { t } from './text';
import type { Keys } from './use-wallet';
import type { Account, Permission } from './wire';

/** What the account allows stores to take, each with a way to take it back. Nothing where nothing was allowed. */
export function Permissions({ keys, account }: { keys: Keys | null; account: Account }) {
  const [list, setList] = useState<Permission[]>([]);
  const [said, setSaid] = useState('');
  const read = useCallback(
    () =>
      permissions(account.address).then(setList, () => {
        setList([]);
      }),
    [account.address],
  );
  useEffect(() => {
    read();
  }, [read]);

  const revoke = async (permission: Permission) => {
    if (!keys) return;
    try {
      await sendTransaction(await keys.revocation(account, permission, await chainId()));
      setSaid(t('permissionRevoked'));
    } catch (error) {
      setSaid(t('permissionStays', { message: error instanceof Error ? error.message : String(error) }));
    }
    await read();
  };

  if (list.length === 0 && !said) return null;
  return (
    <section className="wallet-card" aria-labelledby="permissions-heading">
      <h2 id="permissions-heading">{t('permissions')}</h2>
      {list.map((permission) => (
        <Given key={permission.address} permission={permission} ready={keys !== null} onRevoke={revoke} />
      ))}
      <p className="k-hint wallet-said" role="status">
        {said}
      </p>
    </section>
  );
}

interface GivenProps {
  permission: Permission;
  ready: boolean;
  onRevoke: (permission: Permission) => Promise<void>;
}

function Given({ permission, ready, onRevoke }: GivenProps) {
  const [busy, setBusy] = useState(false);
  const amount = useAmounts(permission.allowances, ' / ');
  const revoke = async () => {
    setBusy(true);
    await onRevoke(permission);
    setBusy(false);
  };
  return (
    <div className="wallet-fields">
      <p>{permission.allowances.length > 0 ? t('permissionLimit', { amount }) : t('permissionNoLimit')}</p>
      <p className="wallet-code">{permission.to}</p>
      <Button loading={busy || !ready} onClick={revoke}>
        {t('permissionRevoke')}
      </Button>
    </div>
  );
}
