import { useMutation } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import { ErrorAlert } from '@/features/billing/dialog';
import { Section } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';

/** Makes the links in all emails until now invalid. */
export function MailLinks() {
  const { t } = useTexts();
  const revoke = useMutation({ mutationFn: () => api.post('/api/customers/me/revoke-links') });
  return (
    <Section id="mail-links" title={t('mailLinks.title')}>
      <Typography.Paragraph>{t('mailLinks.text')}</Typography.Paragraph>
      <Flex gap={16} align="center" wrap>
        <Button loading={revoke.isPending} onClick={() => revoke.mutate()}>
          {t('mailLinks.revoke')}
        </Button>
        <span role="status">{revoke.isSuccess ? t('mailLinks.done') : ''}</span>
      </Flex>
      {revoke.isError ? <ErrorAlert title={t('mailLinks.failed')} text={translateError(revoke.error)} /> : null}
    </Section>
  );
}
