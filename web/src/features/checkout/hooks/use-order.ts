import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { adjustQuantity } from '../calls';
import {
  isCard,
  type PayOption,
  payOptions,
  rememberCurrency,
  rememberedCurrency,
  startingOption,
} from '../rules/currency';
import { headline, orderAmount, payeeOf, pricedAs, trialOf } from '../rules/price';
import { quantityError } from '../rules/quantity';
import { recurringPhrase } from '../rules/recurring';
import { spokenError } from '../rules/spoken';
import { type Phrase, say, t } from '../text';
import type { Checkout, Currency, LineItem, SessionUser } from '../wire';

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

const SETTLE_MS = 300;

export interface Order {
  items: LineItem[];
  options: PayOption[];
  option: PayOption | null;
  currency: Currency | null;
  /** Base units due now. */
  total: string;
  totalText: string;
  payee: string;
  headline: Phrase;
  trialText: string | null;
  recurring: boolean;
  /** By price: a code of the catalogue, or the server's sentence. */
  quantityErrors: Record<string, string>;
  quantityOf: (item: LineItem) => number;
  setQuantity: (priceId: string, quantity: number) => void;
  choose: (currencyId: string) => void;
  /** No payment may begin: a quantity is wrong or still being settled. */
  blocked: boolean;
  /** A payment is under way: the order may not change any more. */
  locked: boolean;
  shakes: number;
}

interface OrderInput {
  checkout: Checkout;
  user: SessionUser | null;
  storeName: string;
  now: number;
  take: (checkout: Checkout) => void;
}

export function useOrder({ checkout, user, storeName, now, take }: OrderInput): Omit<Order, 'locked' | 'shakes'> {
  const locale = useLocale();
  const { checkoutSession: session, paymentMethods } = checkout;
  const items = session.line_items;
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
  const quantities = useQuantities(checkout, take);

  const trial = currency ? trialOf(session.subscription_data, currency.id, now) : null;
  const { total, renew } = currency ? orderAmount(items, currency.id, trial !== null) : { total: '0', renew: '0' };
  const totalText = currency ? formatMoney(total, currency, locale) : '';
  const payee = payeeOf(items, storeName);
  const recurringItem = items.find((item) => pricedAs(item).type === 'recurring');
  const rhythm = recurringItem && pricedAs(recurringItem).recurring;
  const renewal = rhythm && currency ? `${formatMoney(renew, currency, locale)} ${say(recurringPhrase(rhythm))}` : null;
  const trialText = trial
    ? [t(`trial.${trial.unit}`, { count: trial.count }), renewal && t('price.then', { amount: renewal })]
        .filter(Boolean)
        .join(' · ')
    : renewal && t('price.then', { amount: renewal });

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
    payee,
    headline: headline(items, payee, trial),
    trialText,
    recurring: Boolean(recurringItem),
    choose,
    ...quantities,
  };
}

export const paysByCard = (option: PayOption | null) => Boolean(option && isCard(option.method.type));

/** What the buyer wants, beside what the server has accepted. Wishes are sent once the typing has settled. */
function useQuantities(checkout: Checkout, take: (checkout: Checkout) => void) {
  const items = checkout.checkoutSession.line_items;
  const [wishes, setWishes] = useState<Record<string, number>>({});
  const [refusals, setRefusals] = useState<Record<string, string>>({});
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  const latest = useRef(checkout);
  latest.current = checkout;

  const errors: Record<string, string> = { ...refusals };
  for (const item of items) {
    const error = quantityError(pricedAs(item), wishes[item.price_id] ?? item.quantity);
    if (error) errors[item.price_id] = error;
  }

  const drop = (priceId: string) => setWishes(({ [priceId]: _, ...rest }) => rest);

  const setQuantity = (priceId: string, quantity: number) => {
    const item = items.find((it) => it.price_id === priceId);
    if (!item) return;
    setWishes((all) => ({ ...all, [priceId]: quantity }));
    setRefusals(({ [priceId]: _, ...rest }) => rest);
    clearTimeout(timers.current.get(priceId));
    if (quantityError(pricedAs(item), quantity)) return;
    if (quantity === item.quantity) return drop(priceId);
    const send = async () => {
      try {
        const session = await adjustQuantity(checkout.checkoutSession.id, priceId, quantity);
        take({ ...latest.current, checkoutSession: { ...latest.current.checkoutSession, ...session } });
      } catch (error) {
        setRefusals((all) => ({ ...all, [priceId]: spokenError(error) }));
      }
      drop(priceId);
    };
    timers.current.set(priceId, setTimeout(send, SETTLE_MS));
  };

  return {
    quantityErrors: errors,
    quantityOf: (item: LineItem) => wishes[item.price_id] ?? item.quantity,
    setQuantity,
    blocked: Object.keys(errors).length > 0 || Object.keys(wishes).length > 0,
  };
}
