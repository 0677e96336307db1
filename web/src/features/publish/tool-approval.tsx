import { useMutation } from '@tanstack/react-query';
import { Button, Card, Flex, Form, Typography } from 'antd';
import { useState } from 'react';
import { ApiError } from '@/api/error';
import type { SessionUser, ToolRequest } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Note } from '@/features/billing/dialog';
import { CheckedForm } from '@/features/billing/form';
import type { NewToken } from './access-tokens';
import type { AppKey } from './app-keys';
import { useTexts } from './texts';
import { initialToken, TokenFields } from './token-fields';
import styles from './tool.module.css';
import { ToolFacts } from './tool-facts';
import { ToolKeys } from './tool-keys';
import { type ToolApproval as Approval, approveTool, denyTool, needsToken } from './tools';

const FORM = 'tool-token';

interface ToolApprovalProps {
  token: string;
  request: ToolRequest;
  user: SessionUser;
  onApproved: () => void;
  onDenied: () => void;
}

/** What a tool asks for, and the decision about it. */
export function ToolApproval({ token, request, user, onApproved, onDenied }: ToolApprovalProps) {
  const { t } = useTexts();
  const { action } = request;
  const [form] = Form.useForm<NewToken>();
  const [keys, setKeys] = useState<AppKey[]>([]);
  const approve = useMutation({
    mutationFn: (approval: Approval) => approveTool(approval),
    onSuccess: onApproved,
    onError: (error, { access }) => {
      if (!isNameTaken(error)) return;
      form.setFields([{ name: 'name', errors: [t('tokens.nameTaken', { name: access?.name.trim() ?? '' })] }]);
      form.focusField('name');
    },
  });
  const deny = useMutation({ mutationFn: () => denyTool(token), onSuccess: onDenied });
  const isBusy = approve.isPending || deny.isPending;
  const needsKeys = request.apps.length > 0;
  const lacksKeys = needsKeys && keys.length === 0;
  return (
    <Card className={styles.card}>
      <Flex vertical gap={24}>
        <div>
          <Typography.Title level={1}>{t(`tool.title.${action}`)}</Typography.Title>
          <Typography.Paragraph>{t(`tool.lead.${action}`, { name: user.fullName || user.did })}</Typography.Paragraph>
        </div>
        <ToolFacts request={request} />
        <Note type="warning" title={t('tool.caution')} description={t('tool.cautionText')} />
        {needsKeys ? <ToolKeys apps={request.apps} keys={keys} onCreated={setKeys} /> : null}
        {needsToken(action) ? (
          <section aria-labelledby="tool-token-title">
            <Typography.Title level={2} id="tool-token-title">
              {t('tokens.token')}
            </Typography.Title>
            <CheckedForm<NewToken>
              name={FORM}
              form={form}
              initialValues={initialToken}
              onFinish={(access) => approve.mutate({ token, access, keys })}
            >
              <TokenFields defaultName={request.source || action} />
            </CheckedForm>
          </section>
        ) : null}
        {isNameTaken(approve.error) ? null : <ActionError title={t('tool.notApproved')} action={approve} />}
        <ActionError title={t('tool.notDenied')} action={deny} />
        {lacksKeys ? <Typography.Text type="secondary">{t('tool.keysFirst')}</Typography.Text> : null}
        <Flex gap={12} wrap>
          <Button
            type="primary"
            loading={approve.isPending}
            disabled={isBusy || lacksKeys}
            onClick={() => (needsToken(action) ? form.submit() : approve.mutate({ token, keys }))}
          >
            {t('tool.approve')}
          </Button>
          <Button loading={deny.isPending} disabled={isBusy} onClick={() => deny.mutate()}>
            {t('tool.deny')}
          </Button>
        </Flex>
      </Flex>
    </Card>
  );
}

const isNameTaken = (error: unknown) => error instanceof ApiError && error.code === 'TOKEN_NAME_TAKEN';
