import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { usePageTitle } from '@/app/page';
import { usePhone } from '@/lib/use-phone';
import { InvoiceFeed } from './invoice-feed';
import { InvoiceTable } from './invoice-table';
import { PaidNews } from './paid-news';
import { Payments } from './payments';
import styles from './portal.module.css';
import { Purchases } from './purchases';
import { meQuery } from './queries';
import { Subscriptions } from './subscriptions';
import { Summary } from './summary';
import { useTexts } from './texts';

interface PortalProps {
  page?: number;
  pageSize?: number;
  /** Name, mail, phone and address, to be changed. */
  details: ReactNode;
}

/** What needs me, what I am subscribed to, what I own, what I paid, what was billed to me, who I am. */
export function Portal({ page, pageSize, details }: PortalProps) {
  const { t } = useTexts();
  const phone = usePhone();
  usePageTitle(t('portal.title'));
  return (
    <div className={styles.portal}>
      <PaidNews customerId={useQuery(meQuery).data?.id} />
      <h1>{t('portal.title')}</h1>
      <Summary />
      <section aria-labelledby="subscriptions">
        <h2 id="subscriptions">{t('subscriptions.title')}</h2>
        <Subscriptions />
      </section>
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
      <section id="details" className={styles.details} aria-label={t('portal.details')}>
        {details}
      </section>
    </div>
  );
}
