import { Flex, Table, Typography } from 'antd';
import type { Dispute, InvoiceDetail } from '@/api/types';
import { Section } from '@/features/billing/states';
import { DisputeTag } from '@/features/billing/status';
import { useTexts } from '@/features/billing/texts';
import { formatMoney, toUnits } from '@/lib/amount';
import { dateText } from '@/lib/format';

/** The disputes of an invoice's payments. */
export function InvoiceDisputes({ invoice }: { invoice: InvoiceDetail }) {
  const { t, language } = useTexts();
  const disputes = invoice.disputes ?? [];
  if (disputes.length === 0) return null;
  return (
    <Section id="disputes" title={t('dispute.title')}>
      <Table<Dispute>
        aria-label={t('dispute.title')}
        rowKey="id"
        showHeader={false}
        pagination={false}
        dataSource={disputes}
        columns={[
          {
            key: 'dispute',
            render: (_, dispute) => (
              <>
                <DisputeText dispute={dispute} />
                <DisputeTag status={dispute.status} />
              </>
            ),
          },
          {
            key: 'amount',
            align: 'end',
            className: 'money',
            render: (_, { amount, paymentCurrency }) => (
              <strong>{formatMoney(amount, paymentCurrency, language)}</strong>
            ),
          },
        ]}
      />
    </Section>
  );
}

/** The complaints with a translation; others are shown as the card network writes them. */
const REASONS = [
  'fraudulent',
  'product_not_received',
  'product_unacceptable',
  'duplicate',
  'subscription_canceled',
  'credit_not_processed',
  'unrecognized',
  'general',
] as const;

/** The complaint, its date, the deadline of the store's response, and whether the amount is withdrawn. */
export function DisputeText({ dispute }: { dispute: Dispute }) {
  const { t, language } = useTexts();
  const reason = REASONS.find((each) => each === dispute.reason);
  const canRespond = dispute.status === 'needs_response' || dispute.status === 'inquiry';
  return (
    <Flex vertical>
      {reason ? t(`dispute.reason.${reason}`) : dispute.reason || dispute.provider_id}
      <Typography.Text type="secondary">
        <time dateTime={dispute.created_at}>{dateText(dispute.created_at, language)}</time> · {dispute.provider_id}
      </Typography.Text>
      {canRespond && dispute.respond_by ? (
        <Typography.Text type="secondary">
          {t('dispute.respondBy', { date: dateText(dispute.respond_by * 1000, language) })}
        </Typography.Text>
      ) : null}
      {dispute.funds_withdrawn ? <Typography.Text type="secondary">{t('dispute.withdrawn')}</Typography.Text> : null}
      {toUnits(dispute.fee) > 0n && dispute.feeCurrency ? (
        <Typography.Text type="secondary">
          {t('dispute.fee', { amount: formatMoney(dispute.fee, dispute.feeCurrency, language) })}
        </Typography.Text>
      ) : null}
    </Flex>
  );
}
