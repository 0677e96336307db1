import { useMutation } from '@tanstack/react-query';
import { Button, Card, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import type { ConfirmedEmail } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { LinkButton } from '@/features/billing/link-button';
import { PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';

/** The page of a confirmation link. Opening it changes nothing, because mail servers open links too; the reader confirms. */
export function ConfirmEmail({ token }: { token: string }) {
  const { t } = useTexts();
  usePageTitle(t('confirmEmail.title'));
  const confirm = useMutation({
    mutationFn: () => api.post<ConfirmedEmail>('/api/email-confirmations', { token }),
  });
  const storeLink = <LinkButton to="/">{t('confirmEmail.toStore')}</LinkButton>;
  if (confirm.isSuccess) {
    const text = t('confirmEmail.doneText', { email: confirm.data.email });
    return <PageResult status="success" title={t('confirmEmail.done')} text={text} action={storeLink} />;
  }
  if (confirm.isError) {
    const text = translateError(confirm.error);
    return <PageResult status="error" title={t('confirmEmail.rejected')} text={text} action={storeLink} />;
  }
  return (
    <Card style={{ maxWidth: 640, marginInline: 'auto' }}>
      <Flex vertical gap={16} align="start">
        <Typography.Title level={1}>{t('confirmEmail.title')}</Typography.Title>
        <p>{t('confirmEmail.text')}</p>
        <Button type="primary" loading={confirm.isPending} onClick={() => confirm.mutate()}>
          {t('confirmEmail.action')}
        </Button>
      </Flex>
    </Card>
  );
}
