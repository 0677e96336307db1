import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type { PaymentChange, PlanPreview, Price, Subscription } from '@/api/types';
import { openConnect } from '@/features/connect';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { RadioCards } from '@/kit/radio-cards';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { PlanPreviewLines, staked } from './plan-preview';
import { planQuantity, planText, priceText, productName } from './price-text';
import { planPreviewQuery, plansQuery } from './queries';
import { isPaidByAccount } from './subscription-rules';
import { useTexts } from './texts';

/** Another plan: chosen, its proration shown line by line, agreed to, and then changed to exactly what was shown. */
export function PlanDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t } = useTexts();
  const [plan, setPlan] = useState<Price | null>(null);
  const [busy, setBusy] = useState(false);
  return (
    <Dialog
      title={plan ? t('plan.previewTitle') : t('plan.title')}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={busy}
    >
      {plan ? (
        <Consent
          subscription={subscription}
          plan={plan}
          onBack={() => setPlan(null)}
          onBusy={setBusy}
          onDone={onDone}
        />
      ) : (
        <Choice subscription={subscription} onClose={onClose} onChoose={setPlan} />
      )}
    </Dialog>
  );
}

interface ChoiceProps {
  subscription: Subscription;
  onClose: () => void;
  onChoose: (plan: Price) => void;
}

function Choice({ subscription, onClose, onChoose }: ChoiceProps) {
  const texts = useTexts();
  const { t } = texts;
  const [chosen, setChosen] = useState('');
  const { data, error, refetch } = useQuery(plansQuery(subscription.id));
  const current = subscription.items.map(({ price_id: id }) => id);
  const plans = data?.plans.filter(({ id }) => !current.includes(id)) ?? [];
  // The server says so with a refusal, or with no plan at all.
  const none = (error instanceof ApiError && error.status === 400) || (data && plans.length === 0);
  const plan = plans.find(({ id }) => id === chosen) ?? plans[0];
  if (none) {
    return (
      <div className={styles.form}>
        <Alert tone="info">
          <p>{t('plan.none')}</p>
        </Alert>
        <div className={styles.buttons}>
          <Button onClick={onClose}>{t('action.close')}</Button>
        </div>
      </div>
    );
  }
  if (error) {
    return (
      <div className={styles.form}>
        <Failure title={t('plan.notLoaded')} text={spokenError(error)} />
        <Button look="primary" onClick={() => void refetch()}>
          {t('action.retry')}
        </Button>
      </div>
    );
  }
  return (
    <div className={styles.form}>
      <p>
        {t('plan.now')}
        <strong className="money">{planText(subscription, texts)}</strong>
      </p>
      {data ? (
        <RadioCards
          name="plan"
          legend={t('plan.choose')}
          cards={plans.map((each) => ({
            value: each.id,
            title: productName(each, texts),
            detail: priceText(each, subscription.paymentCurrency, texts, planQuantity(subscription, each)),
          }))}
          value={plan?.id ?? ''}
          onChange={setChosen}
        />
      ) : (
        <div className={styles.waiting} aria-busy="true" />
      )}
      <div className={styles.buttons}>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button look="primary" busy={!plan} onClick={() => plan && onChoose(plan)}>
          {t('plan.preview')}
        </Button>
      </div>
    </div>
  );
}

/** What the wallet is to be asked for before the plan changes. */
type WalletOrder = NonNullable<PaymentChange['connect']>;

interface ConsentProps {
  subscription: Subscription;
  plan: Price;
  onBack: () => void;
  onBusy: (busy: boolean) => void;
  onDone: () => void;
}

function Consent({ subscription, plan, onBack, onBusy, onDone }: ConsentProps) {
  const texts = useTexts();
  const { t } = texts;
  const [agreed, setAgreed] = useState(false);
  const [changed, setChanged] = useState(false);
  const { data: preview, error, isFetching, refetch } = useQuery(planPreviewQuery(subscription.id, plan.id));
  const [asking, setAsking] = useState(false);
  // Nobody agreed to the new amounts yet.
  const askAgain = () => {
    setAgreed(false);
    setChanged(true);
    void refetch();
  };
  // The store changes the plan as soon as the wallet has permitted what it can cost.
  const arrive = useMutation({
    mutationFn: () => api.get<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}`),
    onSuccess: ({ items }) => (items.some(({ price_id: id }) => id === plan.id) ? onDone() : askAgain()),
    onSettled: () => onBusy(false),
  });
  const askWallet = ({ action, extraParams }: WalletOrder) => {
    setAsking(true);
    onBusy(true);
    openConnect({
      action,
      title: t('plan.connectTitle'),
      extraParams,
      onSuccess: () => {
        setAsking(false);
        arrive.mutate();
      },
      onClose: () => {
        setAsking(false);
        onBusy(false);
      },
    });
  };
  const change = useMutation({
    mutationFn: ({ proration_date, total, credited }: PlanPreview) =>
      api.put<Subscription | { connect: WalletOrder }>(
        `/api/subscriptions/${encodeURIComponent(subscription.id)}/change-plan`,
        {
          price_id: plan.id,
          proration_date,
          expected_total: total,
          expected_credited: credited,
        },
      ),
    onMutate: () => onBusy(true),
    onSettled: () => onBusy(false),
    onSuccess: (answer) => ('connect' in answer ? askWallet(answer.connect) : onDone()),
    onError: (refusal) => {
      if (refusal instanceof ApiError && refusal.code === 'PREVIEW_CHANGED') askAgain();
    },
  });
  const busy = change.isPending || asking || arrive.isPending;
  const failed = change.isError && !(change.error instanceof ApiError && change.error.code === 'PREVIEW_CHANGED');
  return (
    <div className={styles.form}>
      <p>
        {t('plan.chosen', { name: productName(plan, texts) })}
        <strong className="money">
          {priceText(plan, subscription.paymentCurrency, texts, planQuantity(subscription, plan))}
        </strong>
      </p>
      {error ? <Failure title={t('plan.notPreviewed')} text={spokenError(error)} /> : null}
      {changed ? (
        <Alert tone="warn" urgent title={t('plan.changed')}>
          <p>{t('plan.changedText')}</p>
        </Alert>
      ) : null}
      {preview ? (
        <PlanPreviewLines preview={preview} currency={subscription.paymentCurrency} busy={isFetching} />
      ) : error ? null : (
        <div className={styles.waiting} aria-busy="true" />
      )}
      {preview ? (
        <label className={styles.consent}>
          <input type="checkbox" checked={agreed} onChange={(event) => setAgreed(event.target.checked)} />
          <span>{t(preview.total === '0' ? 'plan.consentFree' : 'plan.consent')}</span>
        </label>
      ) : null}
      {preview && isPaidByAccount(subscription) ? (
        <p className={styles.quiet}>{t(staked(preview) ? 'plan.permissionStake' : 'plan.permission')}</p>
      ) : null}
      {asking ? (
        <Alert tone="info">
          <p>{t('plan.connectText')}</p>
        </Alert>
      ) : null}
      {failed ? <Failure title={t('plan.failed')} text={spokenError(change.error)} /> : null}
      {arrive.isError ? <Failure title={t('plan.failed')} text={spokenError(arrive.error)} /> : null}
      <div className={styles.buttons}>
        <Button onClick={onBack} disabled={busy}>
          {t('action.back')}
        </Button>
        {error && !preview ? (
          <Button look="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        ) : (
          <Button
            look="primary"
            busy={!preview || isFetching || busy}
            disabled={!agreed}
            onClick={() => preview && change.mutate(preview)}
          >
            {t('plan.action')}
          </Button>
        )}
      </div>
    </div>
  );
}
