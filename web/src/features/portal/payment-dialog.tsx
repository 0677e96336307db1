import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { lazy, Suspense, useState } from 'react';
import { api } from '@/api/client';
import type { PaymentChange, PaymentCurrency, PaymentMethod } from '@/api/types';
import { useUser } from '@/app/queries';
import { Dialog, ErrorAlert, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { methodText } from '@/features/billing/invoice-text';
import { OptionList } from '@/features/billing/option-list';
import { isPricedIn, priceText } from '@/features/billing/price-text';
import { settingsQuery } from '@/features/billing/queries';
import { Loading } from '@/features/billing/states';
import { mandateText } from '@/features/billing/subscription-details';
import { type Texts, useTexts } from '@/features/billing/texts';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { type MethodOption, methodOptions } from './method-options';

const CardDialog = lazy(() => import('@/features/card/dialog'));

/** Changes the payment method of future invoices: the wallet or the card form confirms it. */
export function PaymentDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  const { data: settings, error, refetch } = useQuery(settingsQuery(subscription.livemode));
  const [selected, setSelected] = useState('');
  const [isSigning, setIsSigning] = useState(false);
  const [card, setCard] = useState<PaymentChange['stripeContext']>(null);
  const options = settings
    ? methodOptions(settings.paymentMethods, (currencyId) =>
        subscription.items.every(({ price }) => isPricedIn(price, currencyId)),
      )
    : [];
  const option = options.find(({ value }) => value === selected) ?? options[0];

  const change = useMutation({
    mutationFn: ({ method, currency }: MethodOption) =>
      api.post<PaymentChange>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/change-payment`, {
        payment_method: method.id,
        payment_currency: currency.id,
      }),
    onSuccess: ({ stripeContext, connect }) => {
      if (stripeContext) return stripeContext.status === 'succeeded' ? onDone() : setCard(stripeContext);
      if (!connect) return onDone();
      setIsSigning(true);
      openConnect({
        action: connect.action,
        title: t('payment.connectTitle'),
        extraParams: connect.extraParams,
        onSuccess: () => onDone(),
        onClose: () => setIsSigning(false),
      });
    },
  });
  const isBusy = change.isPending || isSigning;

  if (card && option) {
    return (
      <Suspense fallback={null}>
        <CardDialog
          settings={cardSettings(option.method)}
          context={card}
          contact={{
            name: user?.fullName ?? '',
            email: user?.email ?? '',
            country: user?.address?.country,
            postalCode: user?.address?.postal_code,
          }}
          onAccepted={() => onDone('payment.doneCard')}
          onClose={() => setCard(null)}
        />
      </Suspense>
    );
  }
  return (
    <Dialog
      title={t('payment.title')}
      isBusy={isBusy}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={isBusy}>
            {t('action.cancel')}
          </Button>
          {error && !settings ? (
            <Button type="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          ) : option || !settings ? (
            <Button type="primary" loading={!option || isBusy} onClick={() => option && change.mutate(option)}>
              {option?.method.type === 'stripe' ? t('payment.toCard') : t('payment.toWallet')}
            </Button>
          ) : null}
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('payment.text')}</p>
        <p>
          {t('payment.now')}
          <strong>
            {mandateText(subscription, texts)} · {subscription.paymentCurrency.symbol}
          </strong>
        </p>
        {error ? <ErrorAlert title={t('payment.notLoaded')} text={translateError(error)} /> : null}
        {settings ? (
          <OptionList
            label={t('payment.choose')}
            options={options.map(({ value, method, currency }) => ({
              value,
              title: methodText(method, texts),
              detail: priceIn(subscription, currency, texts),
            }))}
            value={option?.value}
            onChange={setSelected}
          />
        ) : error ? null : (
          <Loading />
        )}
        {settings && options.length === 0 ? <p>{t('payment.none')}</p> : null}
        {change.isError ? <ErrorAlert title={t('payment.failed')} text={translateError(change.error)} /> : null}
      </div>
    </Dialog>
  );
}

/** The price of the plan in a currency. */
const priceIn = ({ items }: SubscriptionDialogProps['subscription'], currency: PaymentCurrency, texts: Texts): string =>
  items.map(({ price, quantity }) => priceText(price, currency, texts, quantity)).join(' + ');

const cardSettings = ({ settings }: PaymentMethod) => ({
  publishable_key: settings?.stripe?.publishable_key ?? '',
  api_host: settings?.stripe?.api_host,
});
