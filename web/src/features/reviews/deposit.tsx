import { useQuery } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { AppDeposit, DepositTerms, Stake, UploadedApp } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { LoadError, Section } from '@/features/billing/states';
import { openConnect } from '@/features/connect';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { appDepositQuery, reloadReviews, takeBackDeposit } from './queries';
import { type Texts, useTexts } from './texts';

type App = Pick<UploadedApp, 'did' | 'name'>;

/** Whether the network holds money of a deposit, or may move it. */
export const hasDeposit = (deposit: AppDeposit | undefined): deposit is AppDeposit & { stake: Stake } =>
  Boolean(deposit?.stake && deposit.stake.status !== 'pending');

/** Whether the store can still keep a deposit. */
export const canBeKept = (deposit: AppDeposit | undefined): deposit is AppDeposit & { stake: Stake } =>
  hasDeposit(deposit) && deposit.stake.release_reason !== 'forfeited';

/** What is held of a deposit, with its currency. */
export const heldText = ({ amount_remaining: amount, paymentCurrency: currency }: Stake, { language }: Texts) =>
  currency ? formatMoney(amount, currency, language) : amount;

/** What became of a deposit. */
export function stakeText(stake: Stake, texts: Texts): string {
  const { t, language } = texts;
  const amount = heldText(stake, texts);
  if (stake.status === 'held') {
    const { amount_missing: missing, paymentCurrency: currency } = stake;
    if (missing === '0' || !currency) return t('deposit.held', { amount });
    return t('deposit.part', { amount, missing: formatMoney(missing, currency, language) });
  }
  if (stake.release_reason === 'forfeited') return t('deposit.forfeited', { amount });
  if (stake.release_reason === 'revoked') return t('deposit.revoked', { amount });
  if (!stake.return_at) return t('deposit.returningSoon', { amount });
  return t('deposit.returning', { amount, date: dateText(stake.return_at * 1000, language) });
}

/** The deposit for an app, on its developer's page. Nothing while the store asks for none and none is held. */
export function DepositSection({ app }: { app: App }) {
  const texts = useTexts();
  const { t } = texts;
  const { data, error, refetch } = useQuery(appDepositQuery(app.did));
  const [isTaking, setIsTaking] = useState(false);
  if (!data && !error) return null;
  if (data && !data.required && !hasDeposit(data)) return null;
  return (
    <Section id="app-deposit" title={t('deposit.title')}>
      {data ? (
        <Flex vertical gap={12} align="flex-start">
          {data.required ? <Requirement terms={data.terms} /> : null}
          {hasDeposit(data) ? <div>{stakeText(data.stake, texts)}</div> : null}
          {data.required && !data.complete ? <PayDeposit app={app} deposit={data} /> : null}
          {data.stake?.status === 'held' ? (
            <Button onClick={() => setIsTaking(true)}>{t('deposit.take')}</Button>
          ) : null}
        </Flex>
      ) : (
        <LoadError title={t('deposit.error')} error={error} onRetry={() => void refetch()} />
      )}
      {isTaking && data?.stake ? (
        <ConfirmDialog
          title={t('deposit.takeTitle', { name: app.name })}
          action={t('deposit.take')}
          failedTitle={t('deposit.notTaken')}
          danger
          run={() => takeBackDeposit(app.did)}
          onClose={() => setIsTaking(false)}
          onDone={() => {
            announce(t('deposit.taken'));
            setIsTaking(false);
            // The app may be blocked now.
            reloadReviews(true);
          }}
        >
          <p>{t('deposit.takeText', { amount: heldText(data.stake, texts), count: data.stake.waiting_days })}</p>
          {data.required ? <p>{t('deposit.takeBlocks')}</p> : null}
        </ConfirmDialog>
      ) : null}
    </Section>
  );
}

function Requirement({ terms }: { terms: DepositTerms | null }) {
  const { t, language } = useTexts();
  if (!terms) return <Typography.Text type="danger">{t('deposit.unavailable')}</Typography.Text>;
  const sentences = [
    t('deposit.required', { amount: formatMoney(terms.amount, terms.currency, language) }),
    t('deposit.waiting', { count: terms.waiting_days }),
    t('deposit.forfeit'),
  ];
  return <div>{sentences.join(language === 'zh' ? '' : ' ')}</div>;
}

/** Asks the wallet for the deposit, or for the rest of one that was paid in part. */
export function PayDeposit({ app, deposit: { terms, stake } }: { app: App; deposit: AppDeposit }) {
  const { t, language } = useTexts();
  const [isSigning, setIsSigning] = useState(false);
  if (!terms) return null;
  const pay = () => {
    setIsSigning(true);
    openConnect({
      action: 'stake-and-publish',
      title: t('deposit.connectTitle', { name: app.name }),
      failedTitle: t('deposit.failed'),
      extraParams: { appDid: app.did },
      onSuccess: () => {
        announce(t('deposit.paid'));
        void queryClient.invalidateQueries(appDepositQuery(app.did)).then(() => setIsSigning(false));
      },
      onClose: () => setIsSigning(false),
    });
  };
  const amount = stake?.status === 'held' ? stake.amount_missing : terms.amount;
  return (
    <Button type="primary" loading={isSigning} onClick={pay}>
      {t('deposit.pay', { amount: formatMoney(amount, terms.currency, language) })}
    </Button>
  );
}
