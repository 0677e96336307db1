import { useMutation } from '@tanstack/react-query';
import { Button, Flex, Input } from 'antd';
import { useId, useState } from 'react';
import type { AccessToken, Page } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { deleteToken } from './access-tokens';
import { useTexts } from './texts';

interface DeleteTokenDialogProps {
  token: AccessToken;
  onClose: () => void;
  onDeleted: (remaining: Page<AccessToken>) => void;
}

/** Deletes a token once its name was typed. */
export function DeleteTokenDialog({ token, onClose, onDeleted }: DeleteTokenDialogProps) {
  const { t } = useTexts();
  const id = useId();
  const [typed, setTyped] = useState('');
  const remove = useMutation({ mutationFn: () => deleteToken(token), onSuccess: onDeleted });
  const isTyped = typed.trim() === token.name;
  return (
    <Dialog
      title={t('tokens.deleteTitle', { name: token.name })}
      isBusy={remove.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={remove.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" danger disabled={!isTyped} loading={remove.isPending} onClick={() => remove.mutate()}>
            {t('tokens.deleteAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('tokens.deleteText')}</p>
        <Flex vertical gap={8}>
          <label htmlFor={id} style={{ overflowWrap: 'anywhere' }}>
            {t('tokens.deleteType', { name: token.name })}
          </label>
          <Input
            id={id}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            onPressEnter={() => isTyped && !remove.isPending && remove.mutate()}
          />
        </Flex>
        <ActionError title={t('tokens.notDeleted')} action={remove} />
      </div>
    </Dialog>
  );
}
