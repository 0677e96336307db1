import { useNavigate } from '@tanstack/react-router';
import { Button, Flex, Segmented, Tag, Typography } from 'antd';
import { useState } from 'react';
import type { Payee, PaymentCurrency, SharePayout } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { PageResult } from '@/features/billing/states';
import { formatMoney } from '@/lib/amount';
import { dateTimeText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { ConsoleList } from './console-list';
import { type PayeeRow, payablesQuery, payoutsQuery } from './payables';
import { RecordPayoutDialog } from './record-payout-dialog';
import { RequireAdmin } from './require-admin';
import { ReversePayoutDialog } from './reverse-payout-dialog';
import { useTexts } from './texts';

interface PayablesPageProps {
  page?: number;
  /** Shows the payouts instead of what is payable. */
  payouts?: boolean;
}

/** What the store owes the beneficiaries of sales, or what was paid out to them. For owners. */
export function PayablesPage({ page = 1, payouts = false }: PayablesPageProps) {
  const { t } = useTexts();
  const user = useUser();
  const navigate = useNavigate();
  usePageTitle(t('payables.title'));
  const show = (shown: string) =>
    void navigate({ to: '/console/payables', search: { payouts: shown === 'payouts' || undefined } });
  return (
    <RequireAdmin>
      {user && user.role !== 'owner' ? (
        <PageResult status="warning" title={t('payables.owners')} text={t('error.403')} />
      ) : (
        <Flex vertical gap={24} align="stretch">
          <div style={{ maxWidth: 640 }}>
            <Typography.Title level={1}>{t('payables.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('payables.lead')}</Typography.Text>
          </div>
          <div>
            <Segmented
              aria-label={t('payables.shown')}
              value={payouts ? 'payouts' : 'payables'}
              onChange={show}
              options={(['payables', 'payouts'] as const).map((value) => ({
                value,
                label: t(`payables.show.${value}`),
              }))}
            />
          </div>
          {payouts ? <Payouts page={page} /> : <Payables page={page} />}
        </Flex>
      )}
    </RequireAdmin>
  );
}

function useMoney() {
  const { language } = useTexts();
  // The units themselves if the store does not have the currency any more.
  return (amount: string, currency: PaymentCurrency | null) =>
    currency ? formatMoney(amount, currency, language) : amount;
}

function Beneficiary({ name, did }: { name: string; did: string }) {
  return (
    <Flex vertical>
      {name ? <span>{name}</span> : null}
      <Typography.Text code style={{ overflowWrap: 'anywhere' }}>
        {did}
      </Typography.Text>
    </Flex>
  );
}

function Payables({ page }: { page: number }) {
  const { t } = useTexts();
  const phone = usePhone();
  const money = useMoney();
  return (
    <ConsoleList<PayeeRow>
      query={payablesQuery(page)}
      page={page}
      label={t('payables.title')}
      empty={t('payables.empty')}
      failed={t('payables.error')}
      columns={[
        {
          key: 'beneficiary',
          title: t('payables.beneficiary'),
          render: (_, { name, beneficiary }) => <Beneficiary name={name} did={beneficiary} />,
        },
        {
          key: 'earned',
          title: t('payables.earned'),
          align: 'end',
          className: 'money',
          render: (_, payee) => money(payee.earned, payee.currency),
        },
        {
          key: 'paid',
          title: t('payables.paidOut'),
          align: 'end',
          className: 'money',
          render: (_, payee) => money(payee.paid_out, payee.currency),
        },
        {
          key: 'payable',
          title: t('payables.payable'),
          align: 'end',
          className: 'money',
          render: (_, payee) => (
            <Flex vertical align={phone ? 'start' : 'end'}>
              <span>{money(payee.payable, payee.currency)}</span>
              {payee.overpaid === '0' ? null : (
                <Typography.Text type="warning">
                  {t('payables.overpaid', { amount: money(payee.overpaid, payee.currency) })}
                </Typography.Text>
              )}
            </Flex>
          ),
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('payables.action')}</span>,
          render: (_, payee) => <RecordButton payee={payee} />,
        },
      ]}
    />
  );
}

function RecordButton({ payee }: { payee: Payee }) {
  const { t } = useTexts();
  // As it was when the dialog opened. If an answer is lost, the list shows a payout that was recorded already: a
  // repeated request must still name the sum from before it, or the payout would be recorded twice.
  const [opened, setOpened] = useState<{ payee: Payee; currency: PaymentCurrency } | null>(null);
  const { currency } = payee;
  return (
    <>
      {payee.payable === '0' || !currency ? null : (
        <Button size="small" onClick={() => setOpened({ payee, currency })}>
          {t('payables.record')}
        </Button>
      )}
      {opened ? <RecordPayoutDialog {...opened} onClose={() => setOpened(null)} /> : null}
    </>
  );
}

function Payouts({ page }: { page: number }) {
  const { t, language } = useTexts();
  const money = useMoney();
  return (
    <ConsoleList<SharePayout>
      query={payoutsQuery(page)}
      page={page}
      label={t('payables.show.payouts')}
      empty={t('payables.noPayouts')}
      failed={t('payables.payoutsError')}
      columns={[
        {
          key: 'time',
          title: t('payables.time'),
          render: (_, { created_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
        },
        {
          key: 'beneficiary',
          title: t('payables.beneficiary'),
          render: (_, { name, beneficiary }) => <Beneficiary name={name} did={beneficiary} />,
        },
        {
          key: 'reason',
          title: t('payables.reason'),
          render: (_, { reason, reverses, reversed }) => (
            <Flex gap={8} wrap>
              <span>{reason}</span>
              {reverses === null ? null : <Tag>{t('payables.reversal')}</Tag>}
              {reversed ? <Tag>{t('payables.reversed')}</Tag> : null}
            </Flex>
          ),
        },
        {
          key: 'amount',
          title: t('payables.amount'),
          align: 'end',
          className: 'money',
          render: (_, { amount, currency, reverses }) => `${reverses === null ? '' : '−'}${money(amount, currency)}`,
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('payables.action')}</span>,
          render: (_, payout) => <ReverseButton payout={payout} />,
        },
      ]}
    />
  );
}

function ReverseButton({ payout }: { payout: SharePayout }) {
  const { t } = useTexts();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {payout.reversed || payout.reverses !== null ? null : (
        <Button size="small" onClick={() => setOpen(true)}>
          {t('payables.reverse')}
        </Button>
      )}
      {isOpen ? <ReversePayoutDialog payout={payout} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
