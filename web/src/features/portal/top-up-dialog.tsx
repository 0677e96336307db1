import { useQuery } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import type { PayingBalance, Subscription } from '@/api/types';
import { amountFor, TOP_UP_PERIODS } from '@/features/billing/balance';
import { BalanceText, durationText } from '@/features/billing/balance-text';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { balanceQuery } from '@/features/billing/queries';
import { Loading } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { amountError } from '@/features/billing/typed-amount';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';

const OTHER = 'other';

/** Tops up the paying account from another account, of the customer or of another person. */
export function TopUpDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const { t } = useTexts();
  const { data: balance, error, refetch } = useQuery(balanceQuery(subscription));
  const [isBusy, setIsBusy] = useState(false);
  const topUp = (amount: string) => {
    setIsBusy(true);
    openConnect({
      action: 'recharge',
      title: t('topUp.connectTitle'),
      failedTitle: t('topUp.failed'),
      extraParams: { subscriptionId: subscription.id, amount },
      onSuccess: () => onDone(),
      onClose: () => setIsBusy(false),
    });
  };
  if (balance) return <TopUpForm {...{ subscription, balance, isBusy, onClose }} onTopUp={topUp} />;
  return (
    <Dialog
      title={t('topUp.title')}
      onClose={onClose}
      footer={
        error ? (
          <Button type="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        ) : null
      }
    >
      {error ? <ErrorAlert title={t('topUp.error')} text={translateError(error)} /> : <Loading />}
    </Dialog>
  );
}

interface TopUpFormProps {
  subscription: Subscription;
  balance: PayingBalance;
  isBusy: boolean;
  onClose: () => void;
  onTopUp: (amount: string) => void;
}

interface Values {
  choice: string;
  amount: string;
}

function TopUpForm({ subscription, balance, isBusy, onClose, onTopUp }: TopUpFormProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const { paymentCurrency: currency } = subscription;
  const [form] = Form.useForm<Values>();
  const { choice = String(TOP_UP_PERIODS[0]), amount: typed = '' } = Form.useWatch([], form) ?? {};
  const money = (amount: string) => formatMoney(amount, currency, language);
  // Without a fixed price per period, only the amount can be entered.
  const isOther = choice === OTHER || balance.period_amount === null;
  const maximum = { amount: money(balance.maximum) };
  const errorOf = (text: string) => amountError(text, currency.decimal, toUnits(balance.maximum));
  const amount = isOther ? parseDecimal(typed, currency.decimal) : amountFor(Number(choice), balance);
  const isValid = !isOther || errorOf(typed) === null;
  return (
    <Dialog
      title={t('topUp.title')}
      isBusy={isBusy}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={isBusy}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form="topUp" loading={isBusy}>
            {amount && isValid ? t('topUp.actionFor', { amount: money(amount) }) : t('action.addFunds')}
          </Button>
        </>
      }
    >
      <CheckedForm<Values>
        name="topUp"
        form={form}
        initialValues={{ choice: String(TOP_UP_PERIODS[0]), amount: '' }}
        onFinish={() => amount && onTopUp(amount)}
      >
        <div className={styles.body}>
          <p>{t('topUp.text')}</p>
          <div>
            <div>{t('facts.account')}</div>
            <BalanceText subscription={subscription} balance={balance} />
          </div>
          {subscription.status === 'past_due' ? <Note type="info" title={t('topUp.pastDue')} /> : null}
          {balance.period_amount === null ? null : (
            <Form.Item<Values> name="choice" label={t('topUp.amount')}>
              <OptionList
                label={t('topUp.amount')}
                name="periods"
                options={[
                  ...TOP_UP_PERIODS.map((periods) => ({
                    value: String(periods),
                    title: durationText(periods, subscription, texts),
                    aside: money(amountFor(periods, balance)),
                  })),
                  { value: OTHER, title: t('topUp.other') },
                ]}
              />
            </Form.Item>
          )}
          {isOther ? (
            <Form.Item<Values>
              name="amount"
              label={t('topUp.amountIn', { symbol: currency.symbol })}
              extra={t('topUp.most', maximum)}
              rules={[
                rule((text: string) => errorOf(text) !== 'amountWrong', t('topUp.amountWrong')),
                rule((text: string) => errorOf(text) !== 'amountMost', t('topUp.amountMost', maximum)),
              ]}
            >
              <Input inputMode="decimal" autoComplete="off" />
            </Form.Item>
          ) : null}
        </div>
      </CheckedForm>
    </Dialog>
  );
}
