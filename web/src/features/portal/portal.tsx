import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { usePhone } from '@/lib/use-phone';
import { InvoiceFeed } from './invoice-feed';
import { InvoiceTable } from './invoice-table';
import { Payments } from './payments';
import styles from './portal.module.css';
import { Purchases } from './purchases';

/** What I own, what I paid, what was billed to me. */
export function Portal({ page, pageSize }: { page?: number; pageSize?: number }) {
  const { t } = useTexts();
  const phone = usePhone();
  usePageTitle(t('portal.title'));
  return (
    <div className={styles.portal}>
      <h1>{t('portal.title')}</h1>
      <section aria-labelledby="purchases">
        <h2 id="purchases">{t('portal.purchases')}</h2>
        <Purchases />
      </section>
      <section aria-labelledby="payments">
        <h2 id="payments">{t('portal.payments')}</h2>
        <Payments />
      </section>
      <section aria-labelledby="invoices">
        <h2 id="invoices">{t('portal.invoices')}</h2>
        {phone ? <InvoiceFeed /> : <InvoiceTable page={page} pageSize={pageSize} />}
      </section>
    </div>
  );
}
