import { useEffect, useState } from 'react';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button, ButtonLink } from '@/kit/button';
import { Spinner } from '@/kit/icons';
import { toast } from '@/kit/toast';
import { t } from '../completed-text';
import { pageAt } from '../rules/view';

const SLOW_S = 15;

/** Shown while the payment is processed: what the page waits for, and the elapsed time. */
export function Paying({ by }: { by: 'wallet' | 'card' }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const startedAt = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - startedAt) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => announce(t(`paying.${by}`)), [by]);
  const isSlow = seconds >= SLOW_S;
  useEffect(() => {
    if (isSlow) announce(t('paying.slow'));
  }, [isSlow]);
  return (
    <section className="checkout-paying" aria-busy="true" data-testid="paying">
      <Spinner />
      <h2>{t('paying.title')}</h2>
      <p>{t(`paying.${by}`)}</p>
      {isSlow && <p className="checkout-detail">{t('paying.slow')}</p>}
      <p className="checkout-detail figures" aria-hidden="true">
        {seconds > 2 ? t('paying.seconds', { n: seconds }) : '\u00a0'}
      </p>
    </section>
  );
}

export function PayingTimeout({ onRetry }: { onRetry: () => void }) {
  useEffect(() => toast(t('paying.timeoutTitle')), []);
  return (
    <section className="checkout-order-form">
      <Alert severity="warn" urgent title={t('paying.timeoutTitle')}>
        <p>{t('paying.timeoutText')}</p>
      </Alert>
      <div className="checkout-actions">
        <Button variant="primary" onClick={onRetry}>
          {t('paying.checkAgain')}
        </Button>
        <ButtonLink href={pageAt('/customer')}>{t('paying.invoices')}</ButtonLink>
      </div>
    </section>
  );
}
