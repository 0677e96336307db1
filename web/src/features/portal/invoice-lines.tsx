import type { InvoiceDetail, InvoiceLine } from '@/api/types';
import { toUnits } from '@/lib/amount';
import styles from './invoice-page.module.css';
import { spanText } from './invoice-text';
import { useNames } from './names';
import { useTexts } from './texts';

interface LinesProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

const minus = (amount: string) => `−${amount}`;

/** The customer's own credit stands among the sums. */
const billed = ({ lines }: InvoiceDetail) => lines.filter(({ formula }) => formula?.kind !== 'applied_credit');

/** What was billed, each amount with how it came about, and the sums. */
export function Lines({ invoice, money }: LinesProps) {
  const { t } = useTexts();
  const named = useNames();
  const { subtotal, applied_credit: credit, tax } = invoice;
  const sums: [string, string][] = [];
  if (subtotal && subtotal !== invoice.total) sums.push([t('invoice.subtotal'), money(subtotal)]);
  if (toUnits(credit) > 0n) sums.push([t('invoice.appliedCredit'), minus(money(credit))]);
  if (toUnits(tax) > 0n) sums.push([t('invoice.tax'), money(tax)]);
  sums.push([t('invoice.total'), money(invoice.total)]);
  if (invoice.status === 'paid') sums.push([t('invoice.amountPaid'), money(invoice.amount_paid ?? invoice.total)]);
  if (invoice.status === 'open' || invoice.status === 'uncollectible') {
    sums.push([t('invoice.amountDue'), money(invoice.amount_remaining ?? invoice.amount_due ?? invoice.total)]);
  }
  return (
    <table className={styles.lines}>
      <caption className="unseen">{t('invoice.lines')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('invoice.line.item')}</th>
          <th scope="col">{t('invoice.line.quantity')}</th>
          <th scope="col">{t('invoice.line.amount')}</th>
        </tr>
      </thead>
      <tbody>
        {billed(invoice).map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a written invoice never move.
          <tr key={place}>
            <td>
              {named(line.description || line.price?.product?.name || '')}
              <Reckoning line={line} />
            </td>
            <td className="figures">{line.quantity}</td>
            <td className="money">
              {line.credit && toUnits(line.amount) > 0n ? minus(money(line.amount)) : money(line.amount)}
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        {sums.map(([name, sum]) => (
          <tr key={name}>
            <th scope="row" colSpan={2}>
              {name}
            </th>
            <td className="money">{sum}</td>
          </tr>
        ))}
      </tfoot>
    </table>
  );
}

/** The period a line is for, and how its amount came about. */
function Reckoning({ line }: { line: InvoiceLine }) {
  const { t, text, language } = useTexts();
  const formula = text(line.formula_text);
  return (
    <>
      {line.period ? <span className={styles.note}>{spanText(line.period, language)}</span> : null}
      {formula ? (
        <span className={`${styles.note} figures`}>
          <span className="unseen">{t('invoice.formula')}</span>
          {formula}
        </span>
      ) : null}
    </>
  );
}
