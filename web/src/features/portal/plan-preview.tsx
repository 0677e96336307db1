import { Table, Typography } from 'antd';
import type { PaymentCurrency, PlanPreview, ProrationLine } from '@/api/types';
import { formulaText } from '@/features/billing/formula-text';
import { descriptionText } from '@/features/billing/invoice-text';
import { useTexts } from '@/features/billing/texts';
import { formatMoney, toUnits } from '@/lib/amount';
import { dateText, dateTimeText } from '@/lib/format';

interface PlanPreviewProps {
  preview: PlanPreview;
  currency: PaymentCurrency;
  /** The preview is reloading; its amounts may be outdated. */
  isLoading: boolean;
}

/** The lines of a change with the formula of each amount, then the totals: credited, charged, due now. */
export function PlanPreviewLines({ preview, currency, isLoading }: PlanPreviewProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const money = (amount: string) => formatMoney(amount, currency, language);
  const totals: [key: string, name: string, amount: string][] = [];
  // One line each for the old and the new plan already names both amounts.
  if (preview.lines.length > 2)
    totals.push(
      ['credit', t('plan.credit'), minus(preview.credit, money)],
      ['charge', t('plan.charge'), money(preview.charge)],
    );
  // The balance pays with the credit first, then with its earlier funds.
  const fromBalance = toUnits(preview.applied_credit) - toUnits(preview.credit);
  if (fromBalance > 0n) totals.push(['balance', t('plan.balance'), minus(fromBalance.toString(), money)]);
  if (requiresDeposit(preview)) totals.push(['deposit', t('plan.stake'), money(preview.stake)]);
  totals.push(['total', t('plan.total'), money(dueNow(preview))]);
  if (preview.credited !== '0') totals.push(['credited', t('plan.credited'), money(preview.credited)]);
  // A plan that charges something now has a next payment above zero unless the balance covers it.
  const isCovered = preview.next_amount === '0' && toUnits(preview.charge) > 0n;
  totals.push([
    'next',
    t(isCovered ? 'plan.nextByBalance' : 'plan.nextOn', {
      date: dateText(preview.current_period_end * 1000, language),
    }),
    money(preview.next_amount),
  ]);
  return (
    <div aria-busy={isLoading || undefined}>
      <Typography.Text type="secondary">
        {t('plan.asOf', { date: dateTimeText(preview.proration_date * 1000, language) })}
      </Typography.Text>
      <Table<ProrationLine & { key: number }>
        aria-label={t('plan.lines')}
        size="small"
        showHeader={false}
        pagination={false}
        dataSource={preview.lines.map((line, key) => ({ ...line, key }))}
        columns={[
          {
            key: 'line',
            render: (_, line) => (
              <>
                {descriptionText(line, texts)}
                <br />
                <Typography.Text type="secondary" className="figures">
                  {formulaText(line.formula, texts, money)}
                </Typography.Text>
              </>
            ),
          },
          {
            key: 'amount',
            align: 'end',
            className: 'money',
            render: (_, { kind, amount }) => (kind === 'credit' ? minus(amount, money) : money(amount)),
          },
        ]}
        summary={() =>
          totals.map(([key, name, amount]) => (
            <Table.Summary.Row key={key}>
              <Table.Summary.Cell index={0}>{key === 'total' ? <strong>{name}</strong> : name}</Table.Summary.Cell>
              <Table.Summary.Cell index={1} align="end">
                <span className="money" data-total={key}>
                  {key === 'total' ? <strong>{amount}</strong> : amount}
                </span>
              </Table.Summary.Cell>
            </Table.Summary.Row>
          ))
        }
      />
    </div>
  );
}

/** What the customer pays now, the additional deposit included; in base units. */
export const dueNow = ({ total, stake }: PlanPreview) => (toUnits(total) + toUnits(stake)).toString();

/** Whether the change requires a further deposit. */
export const requiresDeposit = ({ stake }: PlanPreview) => toUnits(stake) > 0n;

const minus = (amount: string, money: (amount: string) => string) =>
  amount === '0' ? money('0') : `−${money(amount)}`;
