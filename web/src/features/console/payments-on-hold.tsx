import { Link } from '@tanstack/react-router';
import { Flex } from 'antd';
import type { ReactNode } from 'react';
import type { PaymentOnHold } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { CustomerLink } from './customer-link';
import { OnHoldSection } from './on-hold-section';
import { paymentsOnHoldQuery } from './queries';
import { ResolvePaymentDialog } from './resolve-payment-dialog';
import { useTexts } from './texts';

/** Payments whose network moved an amount that differs from the requested one, with the decision about the money. Nothing if there are none. */
export function PaymentsOnHold(): ReactNode {
  const { t, language } = useTexts();
  const money = (amount: string, { paymentCurrency }: PaymentOnHold) => formatMoney(amount, paymentCurrency, language);
  return (
    <OnHoldSection<PaymentOnHold>
      id="payments"
      texts={{ title: t('heldPayments.title'), lead: t('heldPayments.lead'), failed: t('heldPayments.error') }}
      query={paymentsOnHoldQuery}
      columns={[
        {
          key: 'customer',
          title: t('list.customer'),
          render: (_, { customer_id: id, customer }) => <CustomerLink id={id} customer={customer} />,
        },
        {
          key: 'asked',
          title: t('heldPayments.asked'),
          align: 'end',
          className: 'money',
          render: (_, payment) => money(payment.amount, payment),
        },
        {
          key: 'moved',
          title: t('heldPayments.moved'),
          align: 'end',
          className: 'money',
          render: (_, payment) => <strong>{money(payment.amount_received, payment)}</strong>,
        },
      ]}
      reason={{
        key: 'invoices',
        title: t('heldPayments.invoices'),
        render: (_, { invoices }) =>
          invoices.length === 0 ? null : (
            <Flex vertical>
              {invoices.map(({ id, number }) => (
                <Link key={id} to="/console/invoices/$id" params={{ id }} title={id}>
                  {number || t('list.openInvoice')}
                </Link>
              ))}
            </Flex>
          ),
      }}
      dialog={({ entry, onClose, onDone }) => (
        <ResolvePaymentDialog payment={entry} onClose={onClose} onDone={onDone} />
      )}
    />
  );
}
