import { useMutation } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import { ErrorAlert } from '@/features/billing/dialog';
import { Section } from '@/features/billing/states';
import { translateError } from '@/i18n/translate';
import { useTexts } from './texts';

/** Makes the links in all emails to a customer until now invalid. */
export function RevokeLinks({ customerId }: { customerId: string }) {
  const { t } = useTexts();
  const revoke = useMutation({
    mutationFn: () => api.post(`/api/customers/${encodeURIComponent(customerId)}/revoke-links`),
  });
  return (
    <Section id="email-links" title={t('customer.links')}>
      <Typography.Paragraph>{t('customer.linksText')}</Typography.Paragraph>
      <Flex gap={16} align="center" wrap>
        <Button loading={revoke.isPending} onClick={() => revoke.mutate()}>
          {t('customer.revokeLinks')}
        </Button>
        <span role="status">{revoke.isSuccess ? t('customer.linksRevoked') : ''}</span>
      </Flex>
      {revoke.isError ? <ErrorAlert title={t('customer.linksFailed')} text={translateError(revoke.error)} /> : null}
    </Section>
  );
}
