import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { isMetered, recurringText, unitPriceText } from '@/i18n/price';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import {
  defaultOption,
  isCard,
  type PayOption,
  payOptions,
  rememberCurrency,
  rememberedCurrency,
} from '../rules/currency';
import {
  dueOf,
  effectivePrice,
  headline,
  renewals,
  renewalText,
  type Trial,
  totalWithStake,
  trialOf,
  withoutTrial,
} from '../rules/price';
import { type Phrase, t } from '../text';
import type { Buyer, Checkout, Currency, LineItem, SessionUser } from '../types';
import type { SetCheckout } from './use-checkout';
import { type UpdateItems, useItemUpdates } from './use-item-updates';
import { type Quantities, useQuantities } from './use-quantities';

/** Storage can be blocked in an iframe; then nothing is remembered. */
const storage = {
  getItem: (key: string) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  setItem: (key: string, value: string) => {
    try {
      localStorage.setItem(key, value);
    } catch {
      // The value lasts for this page only.
    }
  },
};

export interface Order extends Omit<Quantities, 'blocked'> {
  items: LineItem[];
  options: PayOption[];
  option: PayOption | null;
  currency: Currency | null;
  /** Base units due now, stake included. */
  total: string;
  totalText: string;
  /** `total` for another pay option. */
  totalIn: (by: PayOption) => string;
  /** The parts of `total` in base units: the payment for the items, and the refundable deposit. */
  payment: string;
  stake: string;
  stakeReturnDays: number;
  headline: Phrase;
  /** Replaces the total if nothing is due now: "7 days free", or the price of a unit. */
  totalLabel: string | null;
  /** The charge that follows: "Then 1.5 TBA per month". */
  nextChargeText: string | null;
  trial: Trial | null;
  /** The renewal amounts; null for a one-time order. */
  renewal: string | null;
  recurring: boolean;
  choose: (currencyId: string) => void;
  updateItems: UpdateItems;
  /** A change is being saved. */
  isUpdating: boolean;
  /** Blocks payment while an entered amount is invalid or not saved. */
  block: (isBlocked: boolean) => void;
  /** What the customer already owns of the order's products. */
  buyer: Buyer | null;
  /** Payment is blocked: a quantity or amount is invalid or not saved. */
  blocked: boolean;
  /** A payment is running: the order cannot change. */
  locked: boolean;
  shakes: number;
}

interface OrderInput {
  checkout: Checkout;
  user: SessionUser | null;
  now: number;
  setCheckout: SetCheckout;
}

export function useOrder({ checkout, user, now, setCheckout }: OrderInput): Omit<Order, 'locked' | 'shakes'> {
  const locale = useLocale();
  const { checkoutSession: session, paymentMethods } = checkout;
  const options = useMemo(() => payOptions(paymentMethods, session), [paymentMethods, session]);
  const [chosenId, setChosenId] = useState<string | null>(null);
  const initialOption = useMemo(
    () =>
      defaultOption(options, {
        requested: new URLSearchParams(window.location.search).get('currencyId'),
        remembered: rememberedCurrency(user, storage),
        session: session.currency_id,
        user,
      }),
    [options, user, session.currency_id],
  );
  const option = options.find((each) => each.currency.id === chosenId) ?? initialOption;
  const currency = option?.currency ?? null;
  // A custom amount applies only to the session's currency.
  const itemsWithoutCustomAmount = useMemo(
    () => session.line_items.map((item) => ({ ...item, custom_amount: null })),
    [session.line_items],
  );
  const itemsIn = (currencyId: string | undefined) =>
    currencyId === session.currency_id ? session.line_items : itemsWithoutCustomAmount;
  const items = itemsIn(currency?.id);
  const { isBlocked, ...itemUpdates } = useItemUpdates(setCheckout);
  const { blocked, ...quantities } = useQuantities(session, itemUpdates.updateItems);

  const buyer = checkout.buyer ?? null;
  // One free trial for each customer and product.
  const data = buyer?.trial_used ? withoutTrial(session.subscription_data) : session.subscription_data;
  const recurring = items.filter((item) => effectivePrice(item).type === 'recurring');
  const trialIn = (currencyId: string) => (recurring.length > 0 ? trialOf(data, currencyId, now) : null);
  const trial = currency && trialIn(currency.id);
  const dueIn = (by: PayOption) => {
    const { id } = by.currency;
    const trialing = trialIn(id) !== null || session.mode === 'setup';
    return dueOf(itemsIn(id), by, { trialing, data, quoted: id === session.currency_id ? session.due : null });
  };
  const due = option ? dueIn(option) : { total: '0', renew: '0', stake: '0' };
  const total = totalWithStake(due);
  const totalText = currency ? formatMoney(total, currency, locale) : '';
  const renewalList = currency ? renewals(items, currency.id) : [];
  const renewal =
    currency && renewalList.length > 0
      ? new Intl.ListFormat(locale === 'zh' ? 'zh-CN' : 'en').format(
          renewalList.map((each) => renewalText(each, currency, locale)),
        )
      : null;
  const singleRenewal = recurring.length === items.length && renewalList.length === 1 ? renewalList[0] : undefined;
  const isAllMetered = recurring.length === items.length && recurring.every((item) => isMetered(effectivePrice(item)));
  const firstRecurring = recurring[0];

  const totalLabel = (() => {
    if (total !== '0') return null;
    if (trial && recurring.length === items.length) return t(`trial.${trial.unit}`, { count: trial.count });
    if (isAllMetered && items.length === 1 && firstRecurring && currency)
      return unitPriceText(effectivePrice(firstRecurring), currency, { language: locale });
    return null;
  })();
  const nextChargeText = (() => {
    if (!renewal) return null;
    if (trial) {
      if (totalLabel) return t('price.then', { amount: renewal });
      return t('price.trialThen', { trial: t(`trial.${trial.unit}`, { count: trial.count }), amount: renewal });
    }
    if (isAllMetered || due.stake !== '0') return renewal;
    if (singleRenewal && !singleRenewal.metered && session.mode !== 'setup')
      return recurringText(singleRenewal.recurring, locale);
    return t('price.then', { amount: renewal });
  })();

  const previousTotal = useRef(totalText);
  useEffect(() => {
    if (previousTotal.current && previousTotal.current !== totalText)
      announce(t('order.totalChanged', { amount: totalText }));
    previousTotal.current = totalText;
  }, [totalText]);

  const choose = (currencyId: string) => {
    setChosenId(currencyId);
    rememberCurrency(user, currencyId, storage);
  };

  return {
    items,
    options,
    option,
    currency,
    total,
    totalText,
    totalIn: (by) => totalWithStake(dueIn(by)),
    payment: due.total,
    stake: due.stake,
    stakeReturnDays: session.stake_return_days,
    headline: headline(items, trial, locale),
    totalLabel,
    nextChargeText,
    trial,
    renewal,
    recurring: recurring.length > 0,
    choose,
    buyer,
    ...quantities,
    ...itemUpdates,
    blocked: blocked || isBlocked || itemUpdates.isUpdating,
  };
}

export const paysByCard = (option: PayOption | null) => Boolean(option && isCard(option.method.type));
