import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { useTexts } from './texts';

interface ConfirmDialogProps {
  title: string;
  /** What happens. */
  children: ReactNode;
  /** What the button says. */
  action: string;
  failedTitle: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  onDone: () => void;
}

/** Says what will happen, and does it when it is agreed to. */
export function ConfirmDialog({ title, children, action, failedTitle, run, onClose, onDone }: ConfirmDialogProps) {
  const { t } = useTexts();
  const act = useMutation({ mutationFn: run, onSuccess: onDone });
  return (
    <Dialog title={title} closeLabel={t('action.close')} onClose={onClose} locked={act.isPending}>
      <div className={styles.form}>
        {children}
        {act.isError ? <Failure title={failedTitle} text={spokenError(act.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={act.isPending}>
            {t('action.cancel')}
          </Button>
          <Button look="primary" busy={act.isPending} onClick={() => act.mutate()}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
