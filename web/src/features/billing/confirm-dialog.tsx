import { useMutation } from '@tanstack/react-query';
import { Button } from 'antd';
import type { ReactNode } from 'react';
import { ActionError } from './action-error';
import { Dialog } from './dialog';
import styles from './dialog.module.css';
import { useTexts } from './texts';

interface ConfirmDialogProps {
  title: string;
  /** The consequences. */
  children: ReactNode;
  /** The label of the button. */
  action: string;
  failedTitle: string;
  /** The action cannot be undone. */
  danger?: boolean;
  run: () => Promise<unknown>;
  onClose: () => void;
  onDone: () => void;
}

/** Names the consequences of an action and runs it when it is confirmed. */
export function ConfirmDialog({
  title,
  children,
  action,
  failedTitle,
  danger,
  run,
  onClose,
  onDone,
}: ConfirmDialogProps) {
  const { t } = useTexts();
  const act = useMutation({ mutationFn: run, onSuccess: onDone });
  return (
    <Dialog
      title={title}
      isBusy={act.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={act.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" danger={danger} loading={act.isPending} onClick={() => act.mutate()}>
            {action}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        {children}
        <ActionError title={failedTitle} action={act} />
      </div>
    </Dialog>
  );
}
