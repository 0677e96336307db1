import { Link } from '@tanstack/react-router';
import type { Invoice } from '@/api/types';
import { Button } from '@/kit/button';
import { Check } from '@/kit/icons';
import { formatMoney } from '@/lib/amount';
import styles from './dialogs.module.css';
import { methodText } from './invoice-text';
import { useNames } from './names';
import { useTexts } from './texts';
import type { OpenDebt } from './use-overdue';

/** One row per currency with its own button: amounts of different currencies are never one sum. */
export function OverdueDebts({ debts, invoices }: { debts: OpenDebt[]; invoices: Invoice[] }) {
  return (
    <ul className={styles.debts}>
      {debts.map((debt) => (
        <Row
          key={debt.currencyId}
          debt={debt}
          invoices={invoices.filter(({ currency_id: id }) => id === debt.currencyId)}
        />
      ))}
    </ul>
  );
}

function Row({ debt, invoices }: { debt: OpenDebt; invoices: Invoice[] }) {
  const texts = useTexts();
  const { t, language } = texts;
  const amount = formatMoney(debt.amount, debt.currency, language);
  const { state } = debt;
  return (
    <li className={styles.debt}>
      <span className={`${styles.amount} money`}>{amount}</span>
      <span className={styles.quiet}>
        {t('overdue.count', { count: invoices.length })} · {methodText(debt.method, texts)}
      </span>
      {debt.supported ? (
        state.name === 'success' ? (
          <span className={styles.settled}>
            <Check /> {t('overdue.paid')}
          </span>
        ) : (
          <Button look="primary" busy={state.name === 'paying'} onClick={debt.pay}>
            {state.name === 'error' ? t('overdue.retry', { amount }) : t('pay.amount', { amount })}
          </Button>
        )
      ) : null}
      {state.name === 'error' ? (
        <p role="alert" className={styles.error}>
          {t('overdue.failed', { message: state.message })}
        </p>
      ) : null}
      {debt.supported ? null : <ByCard invoices={invoices} />}
    </li>
  );
}

/** A card is asked for on the page of what it pays for, or given anew there. */
function ByCard({ invoices }: { invoices: Invoice[] }) {
  const { t } = useTexts();
  const named = useNames();
  const subscriptions = new Map(
    invoices.flatMap(({ subscription_id: id, subscription }) =>
      id ? [[id, subscription?.description || id] as const] : [],
    ),
  );
  return (
    <div className={styles.wide}>
      <p>{t('overdue.byCard')}</p>
      {[...subscriptions].map(([id, name]) => (
        <p key={id}>
          <Link to="/customer/subscription/$id" params={{ id }} className={styles.link}>
            {t('overdue.details', { name: named(name) })}
          </Link>
        </p>
      ))}
    </div>
  );
}
