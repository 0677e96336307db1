import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { announce } from '@/kit/announce';
import { formatMoney, toUnits } from '@/lib/amount';
import {
  isCard,
  type PayOption,
  payOptions,
  rememberCurrency,
  rememberedCurrency,
  startingOption,
} from '../rules/currency';
import {
  dueOf,
  headline,
  isMetered,
  pricedAs,
  priceText,
  renewals,
  renewalText,
  type Trial,
  trialOf,
  withoutTrial,
} from '../rules/price';
import { recurringPhrase } from '../rules/recurring';
import { type Phrase, t, translate } from '../text';
import type { Buyer, Checkout, Currency, LineItem, SessionUser } from '../wire';
import { type Amend, useAmendments } from './use-amendments';
import type { SetCheckout } from './use-checkout';
import { type Quantities, useQuantities } from './use-quantities';

/** Storage may be closed to a frame; then nothing is remembered. */
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
      // Held for this page only.
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
  /** The same as `total` if it were paid that way. */
  totalIn: (by: PayOption) => string;
  /** Its parts, in base units: what is paid for the items, and a deposit that is returned. */
  payment: string;
  stake: string;
  stakeReturnDays: number;
  headline: Phrase;
  /** What stands large where nothing is due now: "7 days free", or the price of a unit. */
  large: string | null;
  /** What follows: "Then 1.5 TBA per month". */
  then: string | null;
  trial: Trial | null;
  /** What is paid again and again; null for an order that is paid once. */
  renewal: string | null;
  recurring: boolean;
  choose: (currencyId: string) => void;
  amend: Amend;
  /** A change is on its way. */
  amending: boolean;
  /** Says whether an amount that is being typed cannot be paid yet. */
  block: (isBlocked: boolean) => void;
  /** What the customer has of the order's products already. */
  buyer: Buyer | null;
  /** No payment may begin: a quantity or an amount is wrong or still being settled. */
  blocked: boolean;
  /** A payment is under way: the order may not change any more. */
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
  const [chosen, setChosen] = useState<string | null>(null);
  const starting = useMemo(
    () =>
      startingOption(options, {
        asked: new URLSearchParams(window.location.search).get('currencyId'),
        remembered: rememberedCurrency(user, storage),
        session: session.currency_id,
        user,
      }),
    [options, user, session.currency_id],
  );
  const option = options.find((it) => it.currency.id === chosen) ?? starting;
  const currency = option?.currency ?? null;
  // An amount was chosen in the session's currency: in another it would be another amount.
  const elsewhere = useMemo(
    () => session.line_items.map((item) => ({ ...item, custom_amount: null })),
    [session.line_items],
  );
  const itemsIn = (currencyId: string | undefined) =>
    currencyId === session.currency_id ? session.line_items : elsewhere;
  const items = itemsIn(currency?.id);
  const { isBlocked, ...amendments } = useAmendments(setCheckout);
  const { blocked, ...quantities } = useQuantities(session, amendments.amend);

  const buyer = checkout.buyer ?? null;
  // One free trial for each customer and product.
  const data = buyer?.trial_used ? withoutTrial(session.subscription_data) : session.subscription_data;
  const recurring = items.filter((item) => pricedAs(item).type === 'recurring');
  const trialIn = (currencyId: string) => (recurring.length > 0 ? trialOf(data, currencyId, now) : null);
  const trial = currency && trialIn(currency.id);
  const dueIn = (by: PayOption) => {
    const { id } = by.currency;
    const trialing = trialIn(id) !== null || session.mode === 'setup';
    return dueOf(itemsIn(id), by, { trialing, data, quoted: id === session.currency_id ? session.due : null });
  };
  const due = option ? dueIn(option) : { total: '0', renew: '0', stake: '0' };
  const sumOf = (it: typeof due) => (toUnits(it.total) + toUnits(it.stake)).toString();
  const total = sumOf(due);
  const totalText = currency ? formatMoney(total, currency, locale) : '';
  const again = currency ? renewals(items, currency.id) : [];
  const renewal =
    currency && again.length > 0
      ? new Intl.ListFormat(locale === 'zh' ? 'zh-CN' : 'en').format(
          again.map((it) => renewalText(it, currency, locale)),
        )
      : null;
  const only = recurring.length === items.length && again.length === 1 ? again[0] : undefined;
  const metered = recurring.length === items.length && recurring.every((item) => isMetered(pricedAs(item)));
  const first = recurring[0];

  const large = (() => {
    if (total !== '0') return null;
    if (trial && recurring.length === items.length) return t(`trial.${trial.unit}`, { count: trial.count });
    if (metered && items.length === 1 && first && currency) return unitText(first, currency, locale);
    return null;
  })();
  const then = (() => {
    if (!renewal) return null;
    if (trial) {
      if (large) return t('price.then', { amount: renewal });
      return t('price.trialThen', { trial: t(`trial.${trial.unit}`, { count: trial.count }), amount: renewal });
    }
    if (metered || due.stake !== '0') return renewal;
    if (only && !only.metered && session.mode !== 'setup') return translate(recurringPhrase(only.rhythm));
    return t('price.then', { amount: renewal });
  })();

  const before = useRef(totalText);
  useEffect(() => {
    if (before.current && before.current !== totalText) announce(t('order.totalChanged', { amount: totalText }));
    before.current = totalText;
  }, [totalText]);

  const choose = (currencyId: string) => {
    setChosen(currencyId);
    rememberCurrency(user, currencyId, storage);
  };

  return {
    items,
    options,
    option,
    currency,
    total,
    totalText,
    totalIn: (by) => sumOf(dueIn(by)),
    payment: due.total,
    stake: due.stake,
    stakeReturnDays: session.stake_return_days ?? 0,
    headline: headline(items, trial, locale),
    large,
    then,
    trial,
    renewal,
    recurring: recurring.length > 0,
    choose,
    buyer,
    ...quantities,
    ...amendments,
    blocked: blocked || isBlocked || amendments.amending,
  };
}

/** "0.01 TBA / call": the price of one unit of what is metered. */
function unitText(item: LineItem, currency: Currency, locale: string): string {
  const { recurring: _, ...price } = pricedAs(item);
  const text = priceText({ ...price, type: 'one_time' }, currency, 1, locale);
  return price.product?.unit_label ? text : `${text} ${t('price.perUnit')}`;
}

export const paysByCard = (option: PayOption | null) => Boolean(option && isCard(option.method.type));
