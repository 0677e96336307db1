import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input, Select } from 'antd';
import { flushSync } from 'react-dom';
import type { AppPricing, AppPricingInput, PaymentCurrency } from '@/api/types';
import { useUser } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { groupDecimal } from '@/features/billing/decimal';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { useSellingTexts } from '@/features/reviews/selling-texts';
import { ShareTree } from '@/features/reviews/terms';
import { formatAmount, formatMoney, parseDecimal } from '@/lib/amount';
import { percentText, priceError, type ShareInput, setPrice, sharesMost, storePercent } from './selling';
import { ShareFields } from './share-fields';

const FORM = 'app-price';

export interface PriceValues {
  type: 'free' | 'one_time';
  currency_id?: string;
  amount?: string;
  /** A new share is undefined until something is typed. */
  shares: (ShareInput | undefined)[];
}

interface PriceDialogProps {
  pricing: AppPricing;
  onClose: () => void;
  onDone: (changed: AppPricing) => void;
}

/** The values of the form: the terms that would apply next, or a first price for the developer. */
function initialValues({ in_force, proposed, currencies, commission_percent }: AppPricing, did: string): PriceValues {
  const terms = proposed ?? in_force;
  const most = percentText(sharesMost(commission_percent));
  if (terms.type !== 'one_time')
    return { type: 'free', currency_id: currencies[0]?.id, shares: [{ beneficiary: did, percent: most }] };
  return {
    type: 'one_time',
    currency_id: currencies.find(({ id }) => id === terms.currency?.id)?.id,
    amount: terms.currency && terms.amount !== null ? formatAmount(terms.amount, terms.currency.decimal) : undefined,
    shares: terms.shares.map(({ beneficiary, percent }) => ({ beneficiary, percent })),
  };
}

const inputOf = ({ type, currency_id, amount, shares }: PriceValues): AppPricingInput =>
  type === 'free'
    ? { type, currency_id: null, amount: null, shares: [] }
    : {
        type,
        currency_id: currency_id ?? null,
        amount: amount?.trim() ?? null,
        shares: shares.map((share) => ({
          beneficiary: share?.beneficiary?.trim() ?? '',
          percent: share?.percent?.trim() ?? '',
        })),
      };

/** Sets the price of an app with those who share it. */
export function PriceDialog({ pricing, onClose, onDone }: PriceDialogProps) {
  const { t, language } = useSellingTexts();
  const did = useUser()?.did ?? '';
  const [form] = Form.useForm<PriceValues>();
  const initial = initialValues(pricing, did);
  // Without the fields that a free app does not show.
  const values = { ...initial, ...Form.useWatch([], form) };
  const currencyOf = (id: string | undefined) => pricing.currencies.find((currency) => currency.id === id);
  const decimalsOf = (id: string | undefined) => currencyOf(id)?.decimal ?? 0;
  const save = useMutation({
    mutationFn: (typed: PriceValues) => setPrice(pricing.app_did, inputOf(typed)),
    // The dialog closes first: announcements behind an open dialog are not read.
    onSuccess: (changed) => flushSync(() => onDone(changed)),
  });
  const errorOf = (amount: string | undefined) =>
    priceError(amount, decimalsOf(form.getFieldValue('currency_id')), pricing);
  const currency = currencyOf(values.currency_id);
  const units = currency ? parseDecimal(values.amount ?? '', currency.decimal) : null;
  const limits = {
    min: groupDecimal(pricing.price_min),
    max: groupDecimal(pricing.price_max),
    symbol: currency?.symbol ?? '',
  };
  return (
    <Dialog
      title={t('price.change')}
      isBusy={save.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={save.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={save.isPending}>
            {t(pricing.waits_for_version ? 'price.propose' : 'action.save')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t(pricing.waits_for_version ? 'price.waits' : 'price.atOnce')}</p>
        <CheckedForm<PriceValues>
          name={FORM}
          form={form}
          initialValues={initial}
          onFinish={(typed) => save.mutate(typed)}
        >
          <Form.Item<PriceValues> name="type">
            <OptionList
              label={t('price.type')}
              options={[
                { value: 'free', title: t('price.type.free') },
                {
                  value: 'one_time',
                  title: t('price.type.one_time'),
                  detail: t('price.type.one_timeText'),
                  disabled: !pricing.paid_apps_allowed || pricing.currencies.length === 0,
                },
              ]}
            />
          </Form.Item>
          {values.type === 'one_time' ? (
            <>
              <Form.Item<PriceValues>
                name="currency_id"
                label={t('price.currency')}
                rules={[rule((id?: string) => currencyOf(id) !== undefined, t('price.currencyRequired'))]}
              >
                <Select options={pricing.currencies.map((one) => ({ value: one.id, label: currencyName(one) }))} />
              </Form.Item>
              <Form.Item<PriceValues>
                name="amount"
                label={t('price.amount', { symbol: currency?.symbol ?? '' })}
                extra={t('price.limits', limits)}
                dependencies={['currency_id']}
                rules={[
                  rule((typed?: string) => errorOf(typed) !== 'price.number', t('price.number')),
                  rule(
                    (typed?: string) => errorOf(typed) !== 'price.decimals',
                    t('price.decimals', { max: decimalsOf(values.currency_id) }),
                  ),
                  rule((typed?: string) => errorOf(typed) !== 'price.range', t('price.range', limits)),
                ]}
              >
                <Input inputMode="decimal" autoComplete="off" />
              </Form.Item>
              <ShareFields form={form} commission={pricing.commission_percent} />
              {currency && units ? (
                <ShareTree
                  root={t('terms.price', { price: formatMoney(units, currency, language) })}
                  storePercent={storePercent(values.shares)}
                  shares={values.shares.map((share, index) => ({
                    key: String(index),
                    beneficiary: share?.beneficiary?.trim() || '–',
                    name: share?.beneficiary?.trim() === did ? t('terms.you') : '',
                    percent: share?.percent?.trim() || '–',
                  }))}
                />
              ) : null}
            </>
          ) : null}
        </CheckedForm>
        <ActionError title={t('price.notChanged')} action={save} />
      </div>
    </Dialog>
  );
}

const currencyName = ({ symbol, name }: PaymentCurrency) => (name && name !== symbol ? `${symbol} · ${name}` : symbol);
