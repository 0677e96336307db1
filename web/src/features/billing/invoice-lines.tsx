import { Table, Typography } from 'antd';
import type { InvoiceDetail, InvoiceLine, Span } from '@/api/types';
import { toUnits } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { formulaText } from './formula-text';
import { descriptionText, refundParts, remainingUnits } from './invoice-text';
import { type Texts, useTexts } from './texts';

interface LinesProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

const minus = (amount: string) => `−${amount}`;

/** From the total to what remains: credit, the balance's part, other payments and refunds, as far as there are any. */
export function totalsOf({ invoice, money }: LinesProps, { t }: Pick<Texts, 't'>): [string, string][] {
  const { total, amount_due: due, amount_paid: paid, tax } = invoice;
  const isDue = invoice.status === 'open' || invoice.status === 'uncollectible';
  const totals: [string, string][] = [];
  const credited = toUnits(total) - toUnits(due ?? total);
  if (toUnits(tax) > 0n) totals.push([t('invoice.tax'), money(tax)]);
  totals.push([t('invoice.total'), money(total)]);
  if (credited > 0n) totals.push([t('invoice.credited'), minus(money(credited.toString()))]);
  const applied = toUnits(invoice.applied_credit);
  const paidOtherwise = toUnits(paid ?? total) - applied;
  const paidText = money(paidOtherwise.toString());
  if (applied > 0n) totals.push([t('invoice.fromBalance'), minus(money(applied.toString()))]);
  if (paidOtherwise > 0n || (invoice.status === 'paid' && applied === 0n))
    totals.push([t('invoice.amountPaid'), isDue ? minus(paidText) : paidText]);
  const { back, pending, failed } = refundParts(invoice);
  if (back > 0n) totals.push([t('invoice.refunded'), money(back.toString())]);
  if (pending > 0n) totals.push([t('invoice.refund.pending'), money(pending.toString())]);
  if (failed > 0n) totals.push([t('invoice.refund.failed'), money(failed.toString())]);
  if (isDue) totals.push([t('invoice.amountDue'), money(remainingUnits(invoice))]);
  return totals;
}

/** The lines of an invoice, each with how its amount was calculated, and the totals. */
export function InvoiceLines({ invoice, money }: LinesProps) {
  const texts = useTexts();
  const { t } = texts;
  const phone = usePhone();
  return (
    <Table<InvoiceLine & { key: number }>
      aria-label={t('invoice.lines')}
      dataSource={invoice.lines.map((line, key) => ({ ...line, key }))}
      pagination={false}
      columns={[
        {
          key: 'item',
          title: t('invoice.line.item'),
          render: (_, line) => (
            <>
              {descriptionText(line, texts)}
              {phone && line.quantity > 1 && !line.formula ? ` × ${line.quantity}` : null}
              <PricingFormulaText line={line} money={money} />
            </>
          ),
        },
        {
          key: 'quantity',
          // The formula of the amount names it too.
          hidden: phone,
          title: t('invoice.line.quantity'),
          align: 'end',
          className: 'figures',
          render: (_, { quantity }) => quantity,
        },
        {
          key: 'amount',
          title: t('invoice.line.amount'),
          align: 'end',
          width: 1,
          className: 'money',
          render: (_, { amount }) => money(amount),
        },
      ]}
      summary={() =>
        totalsOf({ invoice, money }, texts).map(([name, amount]) => (
          <Table.Summary.Row key={name}>
            <Table.Summary.Cell index={0} colSpan={phone ? 1 : 2}>
              {name}
            </Table.Summary.Cell>
            <Table.Summary.Cell index={phone ? 1 : 2} align="end">
              <strong className="money">{amount}</strong>
            </Table.Summary.Cell>
          </Table.Summary.Row>
        ))
      }
    />
  );
}

/** From day to day; a line breaks between the days only. */
function Days({ start, end }: Span) {
  const { language } = useTexts();
  const noWrap = { whiteSpace: 'nowrap' } as const;
  return (
    <>
      <span style={noWrap}>{dateText(start * 1000, language)} –</span>{' '}
      <span style={noWrap}>{dateText(end * 1000, language)}</span>
    </>
  );
}

/** The period of a line, the formula of its amount, and what was credited of it. */
function PricingFormulaText({ line, money }: { line: InvoiceLine; money: LinesProps['money'] }) {
  const { t, language } = useTexts();
  const formula = line.formula ? formulaText(line.formula, { t }, money) : null;
  const isShortened = line.period && line.covers_until && line.covers_until < line.period.end;
  const credited = toUnits(line.credited) > 0n ? t('invoice.line.credited', { amount: money(line.credited) }) : null;
  return (
    <>
      {line.period ? (
        <div>
          <Typography.Text type="secondary">
            <Days {...line.period} />
          </Typography.Text>
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
      {credited ? (
        <div className="figures">
          <Typography.Text type="secondary">
            {isShortened && line.covers_until
              ? t('invoice.line.creditedFrom', {
                  amount: money(line.credited),
                  date: dateText(line.covers_until * 1000, language),
                })
              : credited}
          </Typography.Text>
        </div>
      ) : null}
    </>
  );
}
