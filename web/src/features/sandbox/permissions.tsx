import { useCallback, useEffect, useState } from 'react';
import { Button } from '@/kit/button';
import { chainId, permissions, sendTransaction } from './ledger';
import { useAmounts } from './strings';
import { t } from './text';
import type { Account, Permission } from './types';
import type { Keys } from './use-wallet';

/** The permissions that the account has granted, with revoke buttons; hidden if there are none. */
export function Permissions({ keys, account }: { keys: Keys | null; account: Account }) {
  const [list, setList] = useState<Permission[]>([]);
  const [status, setStatus] = useState('');
  const reload = useCallback(
    () =>
      permissions(account.address).then(setList, () => {
        setList([]);
      }),
    [account.address],
  );
  useEffect(() => {
    reload();
  }, [reload]);

  const revoke = async (permission: Permission) => {
    if (!keys) return;
    try {
      await sendTransaction(await keys.revocation(account, permission, await chainId()));
      setStatus(t('permissionRevoked'));
    } catch (error) {
      setStatus(t('permissionStays', { message: error instanceof Error ? error.message : String(error) }));
    }
    await reload();
  };

  if (list.length === 0 && !status) return null;
  return (
    <section className="wallet-card" aria-labelledby="permissions-heading">
      <h2 id="permissions-heading">{t('permissions')}</h2>
      {list.map((permission) => (
        <PermissionRow key={permission.address} permission={permission} isReady={keys !== null} onRevoke={revoke} />
      ))}
      <p className="k-hint wallet-status" role="status">
        {status}
      </p>
    </section>
  );
}

interface PermissionRowProps {
  permission: Permission;
  isReady: boolean;
  onRevoke: (permission: Permission) => Promise<void>;
}

function PermissionRow({ permission, isReady, onRevoke }: PermissionRowProps) {
  const [isBusy, setIsBusy] = useState(false);
  const amount = useAmounts(permission.allowances, ' / ');
  const revoke = async () => {
    setIsBusy(true);
    await onRevoke(permission);
    setIsBusy(false);
  };
  return (
    <div className="wallet-fields">
      <p>{permission.allowances.length > 0 ? t('permissionLimit', { amount }) : t('permissionNoLimit')}</p>
      <p className="wallet-code">{permission.to}</p>
      <Button loading={isBusy || !isReady} onClick={revoke}>
        {t('permissionRevoke')}
      </Button>
    </div>
  );
}
