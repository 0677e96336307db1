import { Table, Typography } from 'antd';
import type { InvoiceDetail, InvoiceLine } from '@/api/types';
import { toUnits } from '@/lib/amount';
import { spanText } from './invoice-text';
import { useNames } from './names';
import { useTexts } from './texts';

interface LinesProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

const minus = (amount: string) => `−${amount}`;

/** The customer's balance is among the totals. */
const billed = ({ lines }: InvoiceDetail) => lines.filter(({ formula }) => formula?.kind !== 'applied_credit');

/** The lines of an invoice, each with how its amount was calculated, and the totals. */
export function InvoiceLines({ invoice, money }: LinesProps) {
  const { t } = useTexts();
  const named = useNames();
  const { subtotal, applied_credit: balance, tax } = invoice;
  const totals: [string, string][] = [];
  if (subtotal && subtotal !== invoice.total) totals.push([t('invoice.subtotal'), money(subtotal)]);
  if (toUnits(balance) > 0n) totals.push([t('invoice.appliedCredit'), minus(money(balance))]);
  if (toUnits(tax) > 0n) totals.push([t('invoice.tax'), money(tax)]);
  totals.push([t('invoice.total'), money(invoice.total)]);
  if (invoice.status === 'paid') totals.push([t('invoice.amountPaid'), money(invoice.amount_paid ?? invoice.total)]);
  if (invoice.status === 'open' || invoice.status === 'uncollectible') {
    totals.push([t('invoice.amountDue'), money(invoice.amount_remaining ?? invoice.amount_due ?? invoice.total)]);
  }
  return (
    <Table<InvoiceLine & { key: number }>
      aria-label={t('invoice.lines')}
      dataSource={billed(invoice).map((line, key) => ({ ...line, key }))}
      pagination={false}
      columns={[
        {
          key: 'item',
          title: t('invoice.line.item'),
          render: (_, line) => (
            <>
              {named(line.description || line.price?.product?.name || '')}
              <Calculation line={line} />
            </>
          ),
        },
        {
          key: 'quantity',
          title: t('invoice.line.quantity'),
          align: 'end',
          className: 'figures',
          render: (_, { quantity }) => quantity,
        },
        {
          key: 'amount',
          title: t('invoice.line.amount'),
          align: 'end',
          className: 'money',
          render: (_, { credit, amount }) => (credit && toUnits(amount) > 0n ? minus(money(amount)) : money(amount)),
        },
      ]}
      summary={() =>
        totals.map(([name, amount]) => (
          <Table.Summary.Row key={name}>
            <Table.Summary.Cell index={0} colSpan={2}>
              {name}
            </Table.Summary.Cell>
            <Table.Summary.Cell index={2} align="end">
              <strong className="money">{amount}</strong>
            </Table.Summary.Cell>
          </Table.Summary.Row>
        ))
      }
    />
  );
}

/** The period of a line and the formula of its amount. */
function Calculation({ line }: { line: InvoiceLine }) {
  const { t, text, language } = useTexts();
  const formula = text(line.formula_text);
  return (
    <>
      {line.period ? (
        <div>
          <Typography.Text type="secondary">{spanText(line.period, language)}</Typography.Text>
        </div>
      ) : null}
      {formula ? (
        <div className="figures">
          <Typography.Text type="secondary">
            <span className="sr-only">{t('invoice.formula')}</span>
            {formula}
          </Typography.Text>
        </div>
      ) : null}
    </>
  );
}
