import { useMutation } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input, Select } from 'antd';
import { ApiError } from '@/api/error';
import type { CiIssuer, TrustedPublisherList } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog, Note } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { type Texts, useTexts } from './texts';
import { AppsField, initialToken, ScopesField } from './token-fields';
import { isRepository, isRepositoryId, type NewPublisher, registerPublisher } from './trusted-publishers';

const FORM = 'new-publisher';

type CheckedField = 'repository' | 'repository_id' | 'workflow' | 'environment';

/** The field whose value the server has refused. */
const REFUSED: Record<string, [field: CheckedField, text: Parameters<Texts['t']>[0]]> = {
  PUBLISHER_REPOSITORY: ['repository', 'publishers.repositoryRequired'],
  PUBLISHER_REPOSITORY_ID: ['repository_id', 'publishers.repositoryIdInvalid'],
  PUBLISHER_WORKFLOW: ['workflow', 'publishers.workflowInvalid'],
  PUBLISHER_ENVIRONMENT: ['environment', 'publishers.environmentInvalid'],
};

const refusedField = (error: unknown) => (error instanceof ApiError && error.code ? REFUSED[error.code] : undefined);

interface RegisterPublisherDialogProps {
  /** At least one. */
  issuers: CiIssuer[];
  onClose: () => void;
  onRegistered: (all: TrustedPublisherList, repository: string) => void;
}

/** Registers a repository whose CI may publish for the developer. */
export function RegisterPublisherDialog({ issuers, onClose, onRegistered }: RegisterPublisherDialogProps) {
  const { t } = useTexts();
  const [form] = Form.useForm<NewPublisher>();
  const issuer = Form.useWatch('issuer', form) ?? issuers[0]?.address ?? '';
  const provider = issuers.find(({ address }) => address === issuer)?.provider ?? 'github';
  const register = useMutation({
    mutationFn: registerPublisher,
    onSuccess: (all, { repository }) => onRegistered(all, repository.trim()),
    onError: (error) => {
      const [name, text] = refusedField(error) ?? [];
      if (!name || !text) return;
      form.setFields([{ name, errors: [t(text)] }]);
      form.focusField(name);
    },
  });
  return (
    <Dialog
      title={t('publishers.register')}
      isBusy={register.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={register.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={register.isPending}>
            {t('publishers.registerAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <Note type="info" title={t('publishers.registerText')} />
        <CheckedForm<NewPublisher>
          name={FORM}
          form={form}
          initialValues={{
            issuer: issuers[0]?.address,
            repository: '',
            repository_id: '',
            workflow: '',
            environment: '',
            protected_refs_only: true,
            scopes: ['publish-update'],
            apps: initialToken.apps,
          }}
          onFinish={(values) => register.mutate(values)}
        >
          <Form.Item<NewPublisher> name="issuer" label={t('publishers.issuer')}>
            <Select
              options={issuers.map(({ address, provider: of }) => ({
                value: address,
                label: `${t(`publishers.provider.${of}`)} (${address.replace(/^https?:\/\//, '')})`,
              }))}
            />
          </Form.Item>
          <Form.Item<NewPublisher>
            name="repository"
            label={t('publishers.repository')}
            extra={t('publishers.repositoryHint')}
            rules={[rule((text?: string) => isRepository(text, provider), t('publishers.repositoryRequired'))]}
          >
            <Input autoComplete="off" spellCheck={false} />
          </Form.Item>
          <Form.Item<NewPublisher>
            name="repository_id"
            label={t('publishers.repositoryId')}
            extra={t(`publishers.repositoryIdHint.${provider}`)}
            rules={[rule(isRepositoryId, t('publishers.repositoryIdInvalid'))]}
          >
            <Input autoComplete="off" inputMode="numeric" />
          </Form.Item>
          <Form.Item<NewPublisher>
            name="workflow"
            label={t('publishers.workflow')}
            extra={t(`publishers.workflowHint.${provider}`)}
          >
            <Input autoComplete="off" spellCheck={false} />
          </Form.Item>
          <Form.Item<NewPublisher>
            name="environment"
            label={t('publishers.environment')}
            extra={t('publishers.environmentHint')}
          >
            <Input autoComplete="off" spellCheck={false} />
          </Form.Item>
          <Form.Item<NewPublisher>
            name="protected_refs_only"
            valuePropName="checked"
            extra={t('publishers.protectedHint')}
          >
            <Checkbox>{t('publishers.protectedOnly')}</Checkbox>
          </Form.Item>
          <ScopesField />
          <AppsField />
        </CheckedForm>
        {refusedField(register.error) ? null : <ActionError title={t('publishers.notRegistered')} action={register} />}
      </div>
    </Dialog>
  );
}
