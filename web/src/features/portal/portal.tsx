import { useQuery } from '@tanstack/react-query';
import { Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import { usePageTitle } from '@/app/page';
import { CustomerBalance } from '@/features/billing/customer-balance';
import { Invoices } from '@/features/billing/invoices';
import { PaymentToast } from '@/features/billing/payment-toast';
import { customerQuery } from '@/features/billing/queries';
import { Section } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { payAction } from './pay';
import { Payments } from './payments';
import { Purchases } from './purchase-list';
import { Subscriptions } from './subscriptions';
import { Summary } from './summary';

interface PortalProps {
  page?: number;
  pageSize?: number;
  /** The form of name, email, phone and address. */
  details: ReactNode;
}

/** What needs action, then subscriptions, purchases, payments, balance, invoices and the customer's details. */
export function Portal({ page, pageSize, details }: PortalProps) {
  const { t } = useTexts();
  const { data: me } = useQuery(customerQuery);
  usePageTitle(t('portal.title'));
  return (
    <Flex vertical gap={40}>
      <PaymentToast customerId={me?.id} />
      <Typography.Title level={1}>{t('portal.title')}</Typography.Title>
      <Summary />
      <Section id="subscriptions" title={t('subscriptions.title')}>
        <Subscriptions />
      </Section>
      <Section id="purchases" title={t('portal.purchases')}>
        <Purchases />
      </Section>
      <Section id="payments" title={t('portal.payments')}>
        <Payments />
      </Section>
      <Section id="balance" title={t('customerBalance.title')}>
        <CustomerBalance owner="me" area="customer" />
      </Section>
      <Section id="invoices" title={t('portal.invoices')}>
        <Invoices page={page} pageSize={pageSize} area="customer" action={payAction} />
      </Section>
      <section id="details" aria-label={t('portal.details')} style={{ maxWidth: 640 }}>
        {details}
      </section>
    </Flex>
  );
}
