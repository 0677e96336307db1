import { useMutation } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { ApiError } from '@/api/error';
import type { CreatedAccessToken } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm } from '@/features/billing/form';
import { createToken, type NewToken } from './access-tokens';
import { useTexts } from './texts';
import { initialToken, TokenFields } from './token-fields';

const FORM = 'new-token';

interface CreateTokenDialogProps {
  onClose: () => void;
  onCreated: (created: CreatedAccessToken) => void;
}

export function CreateTokenDialog({ onClose, onCreated }: CreateTokenDialogProps) {
  const { t } = useTexts();
  const [form] = Form.useForm<NewToken>();
  const create = useMutation({
    mutationFn: createToken,
    onSuccess: onCreated,
    onError: (error, { name }) => {
      if (!(error instanceof ApiError && error.code === 'TOKEN_NAME_TAKEN')) return;
      form.setFields([{ name: 'name', errors: [t('tokens.nameTaken', { name: name.trim() })] }]);
      form.focusField('name');
    },
  });
  const isTaken = create.error instanceof ApiError && create.error.code === 'TOKEN_NAME_TAKEN';
  return (
    <Dialog
      title={t('tokens.create')}
      isBusy={create.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={create.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={create.isPending}>
            {t('tokens.createAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <CheckedForm<NewToken>
          name={FORM}
          form={form}
          initialValues={initialToken}
          onFinish={(values) => create.mutate(values)}
        >
          <TokenFields />
        </CheckedForm>
        {isTaken ? null : <ActionError title={t('tokens.notCreated')} action={create} />}
      </div>
    </Dialog>
  );
}
