import type { QueryKey } from '@tanstack/react-query';
import { Button } from 'antd';
import { type ReactNode, useState } from 'react';
import { queryClient, useUser } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';

interface OwnerConfirmationProps {
  /** The label of the button and of its dialog. */
  action: string;
  failedTitle: string;
  run: () => Promise<unknown>;
  /** What is loaded again after the confirmation. */
  queryKey: QueryKey;
  /** The consequences. */
  children: ReactNode;
}

/** The button with which an owner confirms something to the store, after a dialog. Others do not see it. */
export function OwnerConfirmation({ action, failedTitle, run, queryKey, children }: OwnerConfirmationProps): ReactNode {
  const user = useUser();
  const [open, setOpen] = useState(false);
  if (user?.role !== 'owner') return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{action}</Button>
      {open ? (
        <ConfirmDialog
          title={action}
          action={action}
          failedTitle={failedTitle}
          run={run}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            void queryClient.invalidateQueries({ queryKey });
          }}
        >
          {children}
        </ConfirmDialog>
      ) : null}
    </>
  );
}
