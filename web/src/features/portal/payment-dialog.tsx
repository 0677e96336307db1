import { useMutation, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { api } from '@/api/client';
import type { PaymentChange, PaymentCurrency, PaymentMethod } from '@/api/types';
import { useUser } from '@/app/queries';
import { openConnect } from '@/features/connect';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { RadioCards } from '@/kit/radio-cards';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { methodText } from './invoice-text';
import { type Payable, payables } from './payables';
import { isPricedIn, priceText } from './price-text';
import { settingsQuery } from './queries';
import { mandateText } from './subscription-facts';
import { type Texts, useTexts } from './texts';

const CardDialog = lazy(() => import('@/features/card/dialog'));

/** Another wallet, currency or card for future invoices; the wallet or the card form then confirms it. */
export function PaymentDialog({ subscription, onClose, onDone }: DialogProps) {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  const { data: settings, error, refetch } = useQuery(settingsQuery(subscription.livemode));
  const [chosen, setChosen] = useState('');
  const [connecting, setConnecting] = useState(false);
  const [card, setCard] = useState<PaymentChange['stripeContext']>(null);
  const choices = settings
    ? payables(settings.paymentMethods, (currencyId) =>
        subscription.items.every(({ price }) => isPricedIn(price, currencyId)),
      )
    : [];
  const choice = choices.find(({ value }) => value === chosen) ?? choices[0];

  const change = useMutation({
    mutationFn: ({ method, currency }: Payable) =>
      api.post<PaymentChange>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/change-payment`, {
        payment_method: method.id,
        payment_currency: currency.id,
      }),
    onSuccess: ({ stripeContext, connect }) => {
      if (stripeContext) return stripeContext.status === 'succeeded' ? onDone() : setCard(stripeContext);
      if (!connect) return onDone();
      setConnecting(true);
      openConnect({
        action: connect.action,
        title: t('payment.connectTitle'),
        extraParams: connect.extraParams,
        onSuccess: () => onDone(),
        onClose: () => setConnecting(false),
      });
    },
  });

  if (card && choice) {
    return (
      <Suspense fallback={null}>
        <CardDialog
          settings={cardSettings(choice.method)}
          context={card}
          contact={{
            name: user?.fullName ?? '',
            email: user?.email ?? '',
            country: user?.address?.country ?? 'us',
            postalCode: user?.address?.postal_code ?? '',
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
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={change.isPending || connecting}
    >
      <div className={styles.form}>
        <p>{t('payment.text')}</p>
        <p>
          {t('payment.now')}{' '}
          <strong>
            {mandateText(subscription, texts)} · {subscription.paymentCurrency.symbol}
          </strong>
        </p>
        {error ? <Failure title={t('payment.notLoaded')} text={spokenError(error)} /> : null}
        {settings ? (
          <RadioCards
            name="method"
            legend={t('payment.choose')}
            cards={choices.map(({ value, method, currency }) => ({
              value,
              title: methodText(method, texts),
              detail: priceIn(subscription, currency, texts),
            }))}
            value={choice?.value ?? ''}
            onChange={setChosen}
          />
        ) : error ? null : (
          <div className={styles.waiting} aria-busy="true" />
        )}
        {settings && choices.length === 0 ? <p>{t('payment.none')}</p> : null}
        {change.isError ? <Failure title={t('payment.failed')} text={spokenError(change.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={change.isPending || connecting}>
            {t('action.cancel')}
          </Button>
          {error && !settings ? (
            <Button look="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          ) : choice || !settings ? (
            <Button
              look="primary"
              busy={!choice || change.isPending || connecting}
              onClick={() => choice && change.mutate(choice)}
            >
              {choice?.method.type === 'stripe' ? t('payment.toCard') : t('payment.toWallet')}
            </Button>
          ) : null}
        </div>
      </div>
    </Dialog>
  );
}

/** What the plan costs when it is paid in this currency: another one may cost something else. */
const priceIn = ({ items }: DialogProps['subscription'], currency: PaymentCurrency, texts: Texts) =>
  items.map(({ price, quantity }) => priceText(price, currency, texts, quantity)).join(' + ');

const cardSettings = ({ settings }: PaymentMethod) => ({
  publishable_key: settings?.stripe?.publishable_key ?? '',
  api_host: settings?.stripe?.api_host,
});
