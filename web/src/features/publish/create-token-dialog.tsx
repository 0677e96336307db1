import { useMutation } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input, Select } from 'antd';
import { ApiError } from '@/api/error';
import type { CreatedAccessToken } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import {
  APP_PATTERNS_MAX,
  arePatterns,
  createToken,
  type NewToken,
  TOKEN_LIFETIMES,
  TOKEN_NAME_MAX,
  TOKEN_SCOPES,
  type TokenScope,
} from './access-tokens';
import { useTexts } from './texts';

const FORM = 'new-token';
const initial: NewToken = { name: '', scopes: ['publish-new', 'publish-update'], apps: ['*'], lifetime_days: 90 };

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
          initialValues={initial}
          onFinish={(values) => create.mutate(values)}
        >
          <Form.Item<NewToken>
            name="name"
            label={t('tokens.name')}
            rules={[
              rule((name?: string) => Boolean(name?.trim()), t('tokens.nameRequired')),
              rule(
                (name?: string) => [...(name?.trim() ?? '')].length <= TOKEN_NAME_MAX,
                t('tokens.nameTooLong', { max: TOKEN_NAME_MAX }),
              ),
            ]}
          >
            <Input autoComplete="off" />
          </Form.Item>
          <Form.Item<NewToken>
            name="scopes"
            label={t('tokens.scopes')}
            rules={[rule((scopes?: TokenScope[]) => Boolean(scopes?.length), t('tokens.scopesRequired'))]}
          >
            <Checkbox.Group
              style={{ flexDirection: 'column', gap: 8 }}
              options={TOKEN_SCOPES.map((value) => ({ value, label: t(`tokens.scope.${value}`) }))}
            />
          </Form.Item>
          <Form.Item<NewToken>
            name="apps"
            label={t('tokens.apps')}
            extra={t('tokens.appsHint')}
            rules={[rule(arePatterns, t('tokens.appsInvalid', { max: APP_PATTERNS_MAX }))]}
          >
            <Select mode="tags" open={false} suffix={null} tokenSeparators={[',', ' ']} />
          </Form.Item>
          <Form.Item<NewToken> name="lifetime_days" label={t('tokens.lifetime')}>
            <Select options={TOKEN_LIFETIMES.map((value) => ({ value, label: t('tokens.days', { count: value }) }))} />
          </Form.Item>
        </CheckedForm>
        {isTaken ? null : <ActionError title={t('tokens.notCreated')} action={create} />}
      </div>
    </Dialog>
  );
}
