import { Link } from '@tanstack/react-router';
import { Flex } from 'antd';
import type { ReactNode } from 'react';
import type { TransferOnHold } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { CustomerLink } from './customer-link';
import { OnHoldSection } from './on-hold-section';
import { transfersOnHoldQuery } from './queries';
import { ResolveTransferDialog } from './resolve-transfer-dialog';
import { useTexts } from './texts';

/** Refunds, payouts and transfers of deposits whose network moved a different amount than ordered. Nothing if there are none. */
export function TransfersOnHold(): ReactNode {
  const { t, language } = useTexts();
  const money = (amount: string, { paymentCurrency }: TransferOnHold) => formatMoney(amount, paymentCurrency, language);
  return (
    <OnHoldSection<TransferOnHold>
      id="transfers"
      texts={{ title: t('heldTransfers.title'), lead: t('heldTransfers.lead'), failed: t('heldTransfers.error') }}
      query={transfersOnHoldQuery}
      columns={[
        {
          key: 'type',
          title: t('heldTransfers.type'),
          render: (_, { type }) => t(`heldTransfers.type.${type}`),
        },
        {
          key: 'customer',
          title: t('list.customer'),
          render: (_, { customer_id: id, customer }) => (id ? <CustomerLink id={id} customer={customer} /> : null),
        },
        {
          key: 'ordered',
          title: t('heldTransfers.ordered'),
          align: 'end',
          className: 'money',
          render: (_, transfer) => money(transfer.amount, transfer),
        },
        {
          key: 'moved',
          title: t('heldTransfers.moved'),
          align: 'end',
          className: 'money',
          render: (_, transfer) => <strong>{money(transfer.amount_moved, transfer)}</strong>,
        },
      ]}
      reason={{
        key: 'for',
        title: t('heldTransfers.for'),
        render: (_, { invoice_id: invoice, subscription_id: subscription }) =>
          invoice || subscription ? (
            <Flex vertical>
              {invoice ? (
                <Link to="/console/invoices/$id" params={{ id: invoice }}>
                  {t('list.openInvoice')}
                </Link>
              ) : null}
              {subscription ? (
                <Link to="/console/subscriptions/$id" params={{ id: subscription }}>
                  {t('stakes.openSubscription')}
                </Link>
              ) : null}
            </Flex>
          ) : null,
      }}
      dialog={({ entry, onClose, onDone }) => (
        <ResolveTransferDialog transfer={entry} onClose={onClose} onDone={onDone} />
      )}
    />
  );
}
