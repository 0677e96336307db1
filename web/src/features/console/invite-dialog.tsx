import { useMutation } from '@tanstack/react-query';
import { Button, Form, Radio, Select } from 'antd';
import type { CreatedInvitation } from '@/api/types';
import { useUser } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm } from '@/features/billing/form';
import { createInvitation, INVITATION_DAYS, managedRoles, type NewInvitation } from './developers';
import { useTexts } from './texts';

const FORM = 'invite';

interface InviteDialogProps {
  onClose: () => void;
  onCreated: (created: CreatedInvitation) => void;
}

export function InviteDialog({ onClose, onCreated }: InviteDialogProps) {
  const { t } = useTexts();
  const roles = managedRoles(useUser());
  const create = useMutation({ mutationFn: createInvitation, onSuccess: onCreated });
  return (
    <Dialog
      title={t('developers.invite')}
      isBusy={create.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={create.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={create.isPending}>
            {t('invitations.createAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('invitations.text')}</p>
        <CheckedForm<NewInvitation>
          name={FORM}
          initialValues={{ role: 'developer', lifetime_days: 7 }}
          onFinish={(values) => create.mutate(values)}
        >
          <Form.Item<NewInvitation> name="role" label={t('developers.role')}>
            <Radio.Group
              vertical
              options={roles.map((value) => ({
                value,
                label: t('invitations.roleMay', { role: t(`role.${value}`), may: t(`role.${value}.may`) }),
              }))}
            />
          </Form.Item>
          <Form.Item<NewInvitation> name="lifetime_days" label={t('invitations.lifetime')}>
            <Select
              options={INVITATION_DAYS.map((value) => ({ value, label: t('invitations.days', { count: value }) }))}
            />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t('invitations.notCreated')} action={create} />
      </div>
    </Dialog>
  );
}
