import { useCallback, useEffect, useState } from 'react';
import { fetchStore } from '@/api/client';
import type { StoreInfo } from '@/api/types';
import { Button } from '@/kit/button';
import { chainId, permissions, sendTransaction } from './ledger';
import { useAmounts } from './strings';
import { t } from './text';
import type { Account, Permission } from './types';
import type { Keys } from './use-wallet';

/** The permissions that the account has granted, with revoke buttons; hidden if there are none. */
export function Permissions({ keys, account }: { keys: Keys | null; account: Account }) {
  const [list, setList] = useState<Permission[]>([]);
  const [store, setStore] = useState<StoreInfo | null>(null);
  const [status, setStatus] = useState('');
  const reload = useCallback(
    () =>
      // Both appear at once, so that the name shifts nothing.
      Promise.all([permissions(account.address), loadStore()]).then(
        ([granted, info]) => {
          setStore(info);
          setList(granted);
        },
        () => setList([]),
      ),
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
        <PermissionRow
          key={permission.address}
          permission={permission}
          storeName={permission.to === store?.appPid ? store.name : null}
          isReady={keys !== null}
          onRevoke={revoke}
        />
      ))}
      <p className="k-hint wallet-status" role="status">
        {status}
      </p>
    </section>
  );
}

/** The store of this sandbox; null if it does not respond. */
const loadStore = () => fetchStore().catch(() => null);

interface PermissionRowProps {
  permission: Permission;
  /** Null for an account that is not this store's. */
  storeName: string | null;
  isReady: boolean;
  onRevoke: (permission: Permission) => Promise<void>;
}

function PermissionRow({ permission, storeName, isReady, onRevoke }: PermissionRowProps) {
  const [isBusy, setIsBusy] = useState(false);
  const amount = useAmounts(permission.allowances, ' / ');
  const revoke = async () => {
    setIsBusy(true);
    await onRevoke(permission);
    setIsBusy(false);
  };
  return (
    <div className="wallet-fields">
      {storeName && (
        <p>
          <strong>{storeName}</strong>
        </p>
      )}
      <p>{permission.allowances.length > 0 ? t('permissionLimit', { amount }) : t('permissionNoLimit')}</p>
      <p className="wallet-code">{permission.to}</p>
      <Button loading={isBusy || !isReady} onClick={revoke}>
        {t('permissionRevoke')}
      </Button>
    </div>
  );
}
