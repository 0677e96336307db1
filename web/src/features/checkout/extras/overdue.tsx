import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { Button, ButtonLink } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { Check, Spinner } from '@/kit/icons';
import { Skeleton } from '@/kit/skeleton';
import { formatMoney } from '@/lib/amount';
import { isCard } from '../rules/currency';
import { pageAt } from '../rules/view';
import type { Overdue } from '../types';
import { t } from './text';
import { useOverdue } from './use-overdue';

interface OverdueDialogProps {
  /** Customer id or DID. */
  owner: string;
  appPid: string | undefined;
  /** Called when all invoices are paid. */
  onPaid: () => void;
  onClose: () => void;
}

const detailsUrl = () => pageAt(`/customer/invoice/past-due?referer=${encodeURIComponent(window.location.href)}`);

/** Unpaid invoices that block an order, with one total per currency. */
export function OverdueDialog({ owner, appPid, onPaid, onClose }: OverdueDialogProps) {
  const locale = useLocale();
  const { state, paymentOf, pay, retry } = useOverdue({ owner, appPid, onPaid });
  const rows = state.name === 'ready' ? Object.entries(state.overdue.summary) : [];
  const locked = rows.some(([id]) => paymentOf(id).name === 'open');
  return (
    <Dialog title={t('overdue.title')} closeLabel={t('action.close')} onClose={onClose} locked={locked}>
      {state.name === 'loading' && (
        <>
          <p role="status">{t('overdue.loading')}</p>
          <Skeleton height={64} />
        </>
      )}
      {state.name === 'error' && (
        <>
          <Alert severity="danger" urgent title={t('overdue.failed')}>
            <p>{state.text}</p>
          </Alert>
          <Button variant="primary" wide onClick={retry}>
            {t('action.retry')}
          </Button>
        </>
      )}
      {state.name === 'ready' && rows.length === 0 && (
        <>
          <p>{t('overdue.none')}</p>
          <Button variant="primary" wide onClick={onPaid}>
            {t('overdue.again')}
          </Button>
        </>
      )}
      {rows.length > 0 && state.name === 'ready' && (
        <>
          <p>{leadText(state.overdue, locale)}</p>
          <ul className="extras-overdue">
            {rows.map(([id, { amount, currency, method }]) => {
              const amountText = formatMoney(amount, currency, locale);
              const payment = paymentOf(id);
              return (
                <li key={id} data-state={payment.name}>
                  <div>
                    <p className="checkout-item-name money">{amountText}</p>
                    <p className="checkout-detail">
                      {t(`method.${method.type}`)} · {t('overdue.count', { count: countOf(state.overdue, id) })}
                    </p>
                  </div>
                  {isCard(method.type) ? (
                    <ButtonLink href={detailsUrl()} aria-label={t('overdue.detailsOf', { amount: amountText })}>
                      {t('overdue.details')}
                    </ButtonLink>
                  ) : payment.name === 'confirming' ? (
                    <p className="extras-confirming">
                      <Spinner /> {t('overdue.confirming')}
                    </p>
                  ) : payment.name === 'success' ? (
                    <p className="extras-confirming">
                      <Check /> {t('overdue.paid')}
                    </p>
                  ) : (
                    <Button
                      variant={payment.name === 'error' ? 'danger' : 'primary'}
                      loading={payment.name === 'open'}
                      onClick={() => pay(id)}
                      aria-label={t('overdue.payOf', { amount: amountText })}
                    >
                      {t(payment.name === 'error' ? 'action.retry' : 'overdue.pay')}
                    </Button>
                  )}
                  {payment.name === 'error' && (
                    <p className="k-error" role="alert">
                      {payment.reason === 'unconfirmed' ? t('overdue.unconfirmed') : payment.message || t('error.500')}
                    </p>
                  )}
                  {isCard(method.type) && <p className="checkout-detail">{t('overdue.card')}</p>}
                </li>
              );
            })}
          </ul>
          <p>
            <a className="extras-link" href={detailsUrl()}>
              {t('overdue.all')}
            </a>
          </p>
        </>
      )}
    </Dialog>
  );
}

const countOf = ({ invoices }: Overdue, currencyId: string) =>
  invoices.filter((invoice) => invoice.currency_id === currencyId).length;

/** One currency: count, total and method. Several currencies: a general text. */
function leadText(overdue: Overdue, locale: string): string {
  const rows = Object.values(overdue.summary);
  const [single] = rows;
  if (!single || rows.length > 1) return t('overdue.lead');
  const total = formatMoney(single.amount, single.currency, locale);
  return t('overdue.leadOne', {
    count: overdue.invoices.length,
    total,
    method: t(`method.${single.method.type}`),
  });
}
