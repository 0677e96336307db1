import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { ApiError } from '@/api/error';
import type { Price } from '@/api/types';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { OptionList } from '@/features/billing/option-list';
import { planQuantity, planText, priceText, productName } from '@/features/billing/price-text';
import { plansQuery } from '@/features/billing/queries';
import { Loading } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { ConfirmStep } from './plan-confirm-step';

/** Changes the plan: a step to select one, and a step that previews the cost and asks for consent to exactly that. */
export function PlanDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const [plan, setPlan] = useState<Price | null>(null);
  return plan ? (
    <ConfirmStep {...{ subscription, plan, onClose, onDone }} onBack={() => setPlan(null)} />
  ) : (
    <SelectStep {...{ subscription, onClose }} onSelect={setPlan} />
  );
}

interface SelectStepProps extends Pick<SubscriptionDialogProps, 'subscription' | 'onClose'> {
  onSelect: (plan: Price) => void;
}

function SelectStep({ subscription, onClose, onSelect }: SelectStepProps) {
  const texts = useTexts();
  const { t } = texts;
  const [selected, setSelected] = useState('');
  const { data, error, refetch } = useQuery(plansQuery(subscription.id));
  const current = subscription.items.map(({ price_id: id }) => id);
  const plans = data?.plans.filter(({ id }) => !current.includes(id)) ?? [];
  // The server responds with an error, or without a plan.
  const none = (error instanceof ApiError && error.status === 400) || (data && plans.length === 0);
  const plan = plans.find(({ id }) => id === selected) ?? plans[0];
  const dialog = { title: t('plan.title'), onClose };
  if (none) {
    return (
      <Dialog {...dialog} footer={<Button onClick={onClose}>{t('action.close')}</Button>}>
        <Note type="info" title={t('plan.none')} />
      </Dialog>
    );
  }
  if (error) {
    return (
      <Dialog
        {...dialog}
        footer={
          <Button type="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        }
      >
        <ErrorAlert title={t('plan.notLoaded')} text={translateError(error)} />
      </Dialog>
    );
  }
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button type="primary" loading={!plan} onClick={() => plan && onSelect(plan)}>
            {t('plan.preview')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>
          {t('plan.now')}
          <strong className="money">{planText(subscription, texts)}</strong>
        </p>
        {data ? (
          <OptionList
            label={t('plan.choose')}
            options={plans.map((each) => ({
              value: each.id,
              title: productName(each, texts),
              detail: priceText(each, subscription.paymentCurrency, texts, planQuantity(subscription, each)),
            }))}
            value={plan?.id}
            onChange={setSelected}
          />
        ) : (
          <Loading />
        )}
      </div>
    </Dialog>
  );
}
