import type { PaymentCurrency, PlanPreview, ProrationLine } from '@/api/types';
import { formatMoney, toUnits } from '@/lib/amount';
import { dayText, momentText } from '@/lib/format';
import styles from './dialogs.module.css';
import { useNames } from './names';
import { type Texts, useTexts } from './texts';

interface PlanPreviewProps {
  preview: PlanPreview;
  currency: PaymentCurrency;
  /** It is asked again; what is shown may be old. */
  busy: boolean;
}

/** Each line with the formula of its amount, then what is given back, asked for, and due now. */
export function PlanPreviewLines({ preview, currency, busy }: PlanPreviewProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const named = useNames();
  const money = (amount: string) => formatMoney(amount, currency, language);
  const date = (at: number) => dayText(at * 1000, language);
  return (
    <div aria-busy={busy || undefined}>
      <p className={styles.quiet}>{t('plan.asOf', { date: momentText(preview.proration_date * 1000, language) })}</p>
      <ul className={styles.lines} aria-label={t('plan.lines')}>
        {preview.lines.map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of one preview never move.
          <li key={place}>
            <span>{named(line.description)}</span>
            <span className="money">{signed(line, money)}</span>
            <span className={styles.quiet}>{formulaText(line, texts)}</span>
          </li>
        ))}
      </ul>
      <dl className={`${styles.sums} money`}>
        <Sum name={t('plan.credit')} amount={minus(preview.credit, money)} />
        <Sum name={t('plan.charge')} amount={money(preview.charge)} />
        <Sum name={t('plan.total')} amount={money(preview.total)} total />
        {preview.credited !== '0' ? <Sum name={t('plan.credited')} amount={money(preview.credited)} /> : null}
        {staked(preview) ? <Sum name={t('plan.stake')} amount={money(preview.stake)} /> : null}
        <Sum name={t('plan.nextOn', { date: date(preview.current_period_end) })} amount={money(preview.next_amount)} />
      </dl>
    </div>
  );
}

function Sum({ name, amount, total = false }: { name: string; amount: string; total?: boolean }) {
  return (
    <div className={total ? styles.total : undefined}>
      <dt>{name}</dt>
      <dd>{amount}</dd>
    </div>
  );
}

/** Whether the change waits for a further deposit. */
export const staked = ({ stake }: PlanPreview) => toUnits(stake) > 0n;

const minus = (amount: string, money: (amount: string) => string) =>
  amount === '0' ? money('0') : `−${money(amount)}`;

const signed = ({ kind, amount }: ProrationLine, money: (amount: string) => string) =>
  kind === 'credit' ? minus(amount, money) : money(amount);

/** In the reader's language; a server that knows one language sends that. */
export const formulaText = ({ text }: Pick<ProrationLine, 'text'>, texts: Pick<Texts, 'text'>) =>
  typeof text === 'string' ? text : texts.text(text);
