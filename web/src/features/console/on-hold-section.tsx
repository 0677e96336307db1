import { useQuery } from '@tanstack/react-query';
import { Alert, Button, Flex, Typography } from 'antd';
import { type ComponentProps, type ReactNode, useState } from 'react';
import type { PaymentDetails, PaymentMethod } from '@/api/types';
import { methodText } from '@/features/billing/invoice-text';
import { RecordTable } from '@/features/billing/record-table';
import { LoadError, Section } from '@/features/billing/states';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { ShortCode } from '@/features/reviews/short-code';
import { transactionLink } from '@/lib/explorer';
import { dateTimeText } from '@/lib/format';
import styles from './on-hold-section.module.css';
import { CONSOLE_PAGE_SIZE, type consoleListQuery } from './queries';
import { useTexts } from './texts';

interface Held {
  id: string;
  payment_method_id: string;
  paymentMethod?: PaymentMethod | null;
  payment_details: PaymentDetails;
  held_at: string;
}

interface Texts {
  title: string;
  lead: string;
  /** Why the list is missing. */
  failed: string;
}

interface DialogProps<T> {
  entry: T;
  onClose: () => void;
  /** With the text that says what became of the entry. */
  onDone: (text: string) => void;
}

interface OnHoldSectionProps<T extends Held> {
  /** The anchor of the section. */
  id: string;
  texts: Texts;
  query: (page: number) => ReturnType<typeof consoleListQuery<T>>;
  /** The columns before the payment method. */
  columns: ComponentProps<typeof RecordTable<T>>['columns'];
  /** What it is for. */
  reason: ComponentProps<typeof RecordTable<T>>['columns'][number];
  dialog: (props: DialogProps<T>) => ReactNode;
}

/** What is on hold because its network moved a different amount, with the decision of the store. Nothing if there is none. */
export function OnHoldSection<T extends Held>({ id, texts, query, columns, reason, dialog }: OnHoldSectionProps<T>) {
  const { t, language } = useTexts();
  const [page, setPage] = useState(1);
  const [open, setOpen] = useState<T | null>(null);
  const [resolved, setResolved] = useState<string | null>(null);
  const { data, error, isPlaceholderData, refetch } = useQuery(query(page));
  if (error && !data) return <LoadError title={texts.failed} error={error} onRetry={() => void refetch()} />;
  const count = data?.count ?? 0;
  if (count === 0 && resolved === null) return null;
  return (
    <div className={styles.section}>
      <Section id={id} title={texts.title}>
        <Flex vertical gap={16}>
          {count > 0 ? <Typography.Text type="secondary">{texts.lead}</Typography.Text> : null}
          <div role="status">
            {resolved === null ? null : <Alert type="success" showIcon role="presentation" title={resolved} />}
          </div>
          {count > 0 ? (
            <RecordTable<T>
              label={texts.title}
              list={data?.list ?? []}
              isLoading={isPlaceholderData}
              pagination={
                count > CONSOLE_PAGE_SIZE && {
                  current: page,
                  pageSize: CONSOLE_PAGE_SIZE,
                  total: count,
                  showSizeChanger: false,
                  onChange: setPage,
                }
              }
              columns={[
                ...columns,
                {
                  key: 'method',
                  title: t('heldPayments.method'),
                  render: (_, entry) => <Transaction entry={entry} />,
                },
                {
                  key: 'date',
                  title: t('heldPayments.date'),
                  render: (_, { held_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
                },
                reason,
                {
                  key: 'action',
                  title: <span className="sr-only">{t('holds.action')}</span>,
                  fixed: 'end',
                  render: (_, entry) => (
                    <Button size="small" onClick={() => setOpen(entry)}>
                      {t('holds.decide')}
                    </Button>
                  ),
                },
              ]}
            />
          ) : null}
        </Flex>
        {open
          ? dialog({
              entry: open,
              onClose: () => setOpen(null),
              onDone: (text) => {
                setResolved(text);
                setOpen(null);
                // The last entry of a page takes the page with it.
                setPage(1);
              },
            })
          : null}
      </Section>
    </div>
  );
}

/** The method with a link to the transaction, or with its reference if no page shows it. */
function Transaction({ entry }: { entry: Held }) {
  const { t } = useTexts();
  const { t: billing } = useBillingTexts();
  const { paymentMethod: method, payment_details: details } = entry;
  const link = transactionLink(method, details);
  const { tx_hash: hash, refund_id: refund, payment_intent_id: intent } = Object.values(details)[0] ?? {};
  const reference = hash ?? refund ?? intent;
  return (
    <Flex vertical align="flex-start">
      {method ? methodText(method, { t: billing }) : entry.payment_method_id}
      {link ? (
        <a href={link.url} target="_blank" rel="noopener noreferrer" title={link.label}>
          {t('heldPayments.transaction')}
          <span className="sr-only"> {t('a11y.newTab')}</span>
        </a>
      ) : null}
      {!link && reference ? <ShortCode text={reference} /> : null}
    </Flex>
  );
}
