import { Button, Flex, Typography } from 'antd';
import { usePageTitle } from '@/app/page';
import { useSessionError, useUser } from '@/app/queries';
import { BackAnchor, BackLink } from '@/features/billing/back-link';
import { LinkButton } from '@/features/billing/link-button';
import { PaymentToast } from '@/features/billing/payment-toast';
import { LoadError, Loading, PageResult, Section } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { ExpiredLink } from './expired-link';
import { OverdueBalances, overdueText } from './overdue-balances';
import { OverdueInvoices } from './overdue-invoices';
import { ownReferer } from './referer';
import { useOverdue } from './use-overdue';

/** All overdue invoices by currency, with a link back to the page that required payment. */
export function PastDuePage({ referer }: { referer?: string }) {
  const { t } = useTexts();
  const user = useUser();
  usePageTitle(t('overdue.title'));
  const sessionError = useSessionError();
  if (user === null && sessionError)
    return (
      <PageResult
        status="error"
        title={t('guard.unknown')}
        text={translateError(sessionError.error)}
        action={<Button onClick={sessionError.retry}>{t('action.retry')}</Button>}
      />
    );
  // An email link opens one invoice or one subscription, not all overdue invoices.
  if (user === null) return <ExpiredLink />;
  const back = ownReferer(referer, window.location.origin);
  return (
    <Flex vertical gap={24} style={{ width: '100%', maxWidth: 760, marginInline: 'auto' }}>
      {back ? (
        <BackAnchor href={back}>{t('overdue.return')}</BackAnchor>
      ) : (
        <BackLink to="/customer">{t('subscription.back')}</BackLink>
      )}
      {user ? <Balances customerId={user.did} back={back} /> : null}
    </Flex>
  );
}

function Balances({ customerId, back }: { customerId: string; back: string | undefined }) {
  const texts = useTexts();
  const { t } = texts;
  const { data, error, refetch, balances } = useOverdue({ customerId });
  if (data && balances.length === 0) {
    return (
      <div role="status">
        <PageResult
          status="success"
          title={t('overdue.none')}
          text={t('overdue.noneText')}
          action={
            back ? (
              <Button type="primary" href={back}>
                {t('overdue.goOn')}
              </Button>
            ) : (
              <LinkButton color="primary" variant="solid" to="/customer">
                {t('subscription.back')}
              </LinkButton>
            )
          }
        />
      </div>
    );
  }
  return (
    <>
      <Typography.Title level={1}>{t('overdue.title')}</Typography.Title>
      {data ? (
        <>
          <PaymentToast customerId={data.customer?.id} />
          <p>{overdueText(data, balances, texts)}</p>
          <OverdueBalances balances={balances} invoices={data.invoices} payer={{ customerId }} />
          <Section id="unpaid" title={t('overdue.invoices')}>
            <OverdueInvoices invoices={data.invoices} />
          </Section>
        </>
      ) : error ? (
        <LoadError title={t('overdue.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading rows={8} />
      )}
    </>
  );
}
