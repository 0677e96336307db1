import { useQueryClient } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { Section } from '@/features/billing/states';
import { useTexts } from './texts';

/** Erases the personal data of a customer who has asked for it. */
export function EraseCustomer({ customerId, name }: { customerId: string; name: string }) {
  const { t } = useTexts();
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [isErased, setIsErased] = useState(false);
  return (
    <Section id="erase" title={t('customer.erase')}>
      <Typography.Paragraph>{t('customer.eraseText')}</Typography.Paragraph>
      <Flex gap={16} align="center" wrap>
        <Button danger onClick={() => setOpen(true)}>
          {t('customer.eraseAction')}
        </Button>
        <span role="status">{isErased ? t('customer.erased') : ''}</span>
      </Flex>
      {open ? (
        <ConfirmDialog
          title={t('customer.eraseTitle', { name })}
          action={t('customer.eraseAction')}
          failedTitle={t('customer.eraseFailed')}
          danger
          run={() => api.post(`/api/customers/${encodeURIComponent(customerId)}/erasure`)}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            setIsErased(true);
            void client.invalidateQueries({ queryKey: ['customers'] });
          }}
        >
          <p>{t('customer.eraseText')}</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  );
}
