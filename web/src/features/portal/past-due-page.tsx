import { ArrowLeftOutlined } from '@ant-design/icons';
import { Link } from '@tanstack/react-router';
import type { Invoice } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useSessionFault, useUser } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { dayText } from '@/lib/format';
import { ExpiredLink } from './expired-link';
import { descriptionText, invoiceAmount } from './invoice-text';
import { useNames } from './names';
import { OverdueDebts } from './overdue-debts';
import { leadText } from './overdue-dialog';
import { PaidNews } from './paid-news';
import styles from './past-due-page.module.css';
import { ownReferer } from './referer';
import { useTexts } from './texts';
import { useOverdue } from './use-overdue';

/** Everything unpaid, by currency, with the way back to where it stood in the way of something. */
export function PastDuePage({ referer }: { referer?: string }) {
  const { t } = useTexts();
  const user = useUser();
  usePageTitle(t('overdue.title'));
  const fault = useSessionFault();
  if (user === null && fault)
    return <Failed asPage title={t('guard.unknown')} text={spokenError(fault.error)} onRetry={fault.retry} />;
  // The link of a mail opens one invoice or one subscription, and not all that somebody owes.
  if (user === null) return <ExpiredLink />;
  const back = ownReferer(referer, window.location.origin);
  return (
    <div className={styles.page}>
      {back ? (
        <a href={back} className={styles.back}>
          <ArrowLeftOutlined aria-hidden="true" /> {t('overdue.return')}
        </a>
      ) : (
        <Link to="/customer" className={styles.back}>
          <ArrowLeftOutlined aria-hidden="true" /> {t('subscription.back')}
        </Link>
      )}
      {user ? <Debts customerId={user.did} back={back} /> : null}
    </div>
  );
}

function Debts({ customerId, back }: { customerId: string; back: string | undefined }) {
  const texts = useTexts();
  const { t } = texts;
  const named = useNames();
  const { data, error, refetch, debts } = useOverdue({ customerId });
  if (error && !data) {
    return (
      <>
        <h1>{t('overdue.title')}</h1>
        <Failed title={t('overdue.error')} text={spokenError(error)} onRetry={() => void refetch()} />
      </>
    );
  }
  if (!data) {
    return (
      <>
        <h1>{t('overdue.title')}</h1>
        <div className={styles.waiting} aria-busy="true" />
      </>
    );
  }
  if (debts.length === 0) {
    return (
      <div role="status">
        <Notice
          asPage
          title={t('overdue.none')}
          text={t('overdue.noneText')}
          action={
            back ? (
              <a href={back} className="k-button k-button-primary">
                {t('overdue.goOn')}
              </a>
            ) : (
              <Link to="/customer" className="k-button k-button-primary">
                {t('subscription.back')}
              </Link>
            )
          }
        />
      </div>
    );
  }
  return (
    <>
      <PaidNews customerId={data.customer?.id} />
      <div>
        <h1>{t('overdue.title')}</h1>
        <p className={styles.lead}>{leadText(data, debts, texts, named)}</p>
      </div>
      <OverdueDebts debts={debts} invoices={data.invoices} debtor={{ customerId }} />
      <section aria-labelledby="unpaid">
        <h2 id="unpaid">{t('overdue.invoices')}</h2>
        <ul className={styles.invoices}>
          {data.invoices.map((invoice) => (
            <Row key={invoice.id} invoice={invoice} />
          ))}
        </ul>
      </section>
    </>
  );
}

function Row({ invoice }: { invoice: Invoice }) {
  const texts = useTexts();
  const { t, language } = texts;
  const named = useNames();
  return (
    <li>
      <Link to="/customer/invoice/$id" params={{ id: invoice.id }} className={styles.open}>
        {t('invoice.title', { number: invoice.number || t('invoice.draft.number') })}
      </Link>
      <span className="money">{invoiceAmount(invoice, texts)}</span>
      <span className={styles.quiet}>
        {named(invoice.subscription?.description || descriptionText(invoice, texts))} ·{' '}
        {dayText(invoice.created_at, language)}
      </span>
    </li>
  );
}
