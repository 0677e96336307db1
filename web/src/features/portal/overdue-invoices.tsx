import { Link } from '@tanstack/react-router';
import type { Invoice } from '@/api/types';
import { useUser } from '@/app/queries';
import { dayText } from '@/lib/format';
import styles from './dialogs.module.css';
import { invoiceAmount } from './invoice-text';
import { useTexts } from './texts';

/** What a debt is made of: each invoice with its day and amount. */
export function OverdueInvoices({ invoices }: { invoices: Invoice[] }) {
  const texts = useTexts();
  const { t, language } = texts;
  // The link of a mail that opened this page opens no other.
  const user = useUser();
  const name = ({ number }: Invoice) => t('invoice.title', { number: number || t('invoice.draft.number') });
  return (
    <ul className={styles.lines} aria-label={t('overdue.invoices')}>
      {invoices.map((invoice) => (
        <li key={invoice.id}>
          {user ? (
            <Link to="/customer/invoice/$id" params={{ id: invoice.id }}>
              {name(invoice)}
            </Link>
          ) : (
            <span>{name(invoice)}</span>
          )}
          <span className="money">{invoiceAmount(invoice, texts)}</span>
          <span className={styles.quiet}>{dayText(invoice.created_at, language)}</span>
        </li>
      ))}
    </ul>
  );
}
