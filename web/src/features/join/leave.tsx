import { Button, Flex } from 'antd';
import { useState } from 'react';
import type { DeveloperProgram } from '@/api/types';
import { useStore } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { Section } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { leaveDevelopers, reloadStanding } from './program';
import { useTexts } from './texts';

/** Ends the membership of a developer, after its consequences were confirmed. */
export function Leave({ standing }: { standing: DeveloperProgram['standing'] }) {
  const { t, language } = useTexts();
  const store = useStore();
  const [isLeaving, setIsLeaving] = useState(false);
  const deposit = standing?.by_deposit ? standing.deposit : null;
  const consequences = (
    <>
      <p>{t('leave.text')}</p>
      {deposit?.paymentCurrency ? (
        <p>
          {t('leave.deposit', {
            amount: formatMoney(deposit.amount_remaining, deposit.paymentCurrency, language),
            count: deposit.waiting_days,
          })}
        </p>
      ) : null}
    </>
  );
  return (
    <Section id="leave" title={t('leave.title')}>
      <Flex vertical gap={16} align="start">
        {consequences}
        <Button danger onClick={() => setIsLeaving(true)}>
          {t('leave.action')}
        </Button>
      </Flex>
      {isLeaving ? (
        <ConfirmDialog
          title={t('leave.confirm', { name: store?.name ?? 'Souk' })}
          action={t('leave.action')}
          failedTitle={t('leave.failed')}
          danger
          run={leaveDevelopers}
          onClose={() => setIsLeaving(false)}
          onDone={() => {
            announce(t('leave.done'));
            setIsLeaving(false);
            void reloadStanding();
          }}
        >
          {consequences}
        </ConfirmDialog>
      ) : null}
    </Section>
  );
}
