import { Link } from '@tanstack/react-router';
import type { Invoice } from '@/api/types';
import { queryClient } from '@/app/queries';
import { Button } from '@/kit/button';
import { Check } from '@/kit/icons';
import { formatMoney } from '@/lib/amount';
import styles from './dialogs.module.css';
import { methodText } from './invoice-text';
import { useNames } from './names';
import type { Debtor } from './pay';
import { PayByCard } from './pay-by-card';
import { overdueQuery } from './queries';
import { useTexts } from './texts';
import type { OpenDebt } from './use-overdue';

/** One row per currency with its own button: amounts of different currencies are never one sum. */
export function OverdueDebts({ debts, invoices, debtor }: { debts: OpenDebt[]; invoices: Invoice[]; debtor: Debtor }) {
  return (
    <ul className={styles.debts}>
      {debts.map((debt) => (
        <Row
          key={debt.currencyId}
          debt={debt}
          debtor={debtor}
          invoices={invoices.filter(({ currency_id: id }) => id === debt.currencyId)}
        />
      ))}
    </ul>
  );
}

function Row({ debt, invoices, debtor }: { debt: OpenDebt; invoices: Invoice[]; debtor: Debtor }) {
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
      {debt.supported ? null : 'subscriptionId' in debtor ? (
        <ByCardHere debt={debt} amount={amount} subscriptionId={debtor.subscriptionId} />
      ) : (
        <ByCard invoices={invoices} />
      )}
    </li>
  );
}

interface ByCardHereProps {
  debt: OpenDebt;
  amount: string;
  subscriptionId: string;
}

/** On the page of the subscription the card is asked for at once. */
function ByCardHere({ debt: { currencyId }, amount, subscriptionId }: ByCardHereProps) {
  const { t } = useTexts();
  const isPaid = async () => {
    const { summary } = await queryClient.fetchQuery({ ...overdueQuery({ subscriptionId }), staleTime: 0 });
    return !(currencyId in summary);
  };
  return (
    <PayByCard
      debt={{ subscription_id: subscriptionId, currency_id: currencyId }}
      text={t('pay.amountByCard', { amount })}
      look="primary"
      isPaid={isPaid}
    />
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
