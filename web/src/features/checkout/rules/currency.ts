import type { CheckoutSession, Currency, MethodType, PaymentMethod, SessionUser } from '../wire';
import { knowsCurrency, pricedAs } from './price';

/** One way to pay: a currency together with the method that moves it. */
export interface PayOption {
  currency: Currency;
  method: PaymentMethod;
}

export const isCard = (type: MethodType): boolean => type === 'stripe';

/** The ways this order can be paid: active currencies that every price of it knows, wallets first. */
export function payOptions(methods: PaymentMethod[], session: CheckoutSession): PayOption[] {
  const options = methods
    .filter((method) => method.active !== false && method.type !== 'bitcoin')
    .flatMap((method) =>
      method.payment_currencies.filter((it) => it.active !== false).map((currency) => ({ currency, method })),
    );
  const usable = options.filter(({ currency }) =>
    session.line_items.every((item) => knowsCurrency(pricedAs(item), currency.id)),
  );
  return [...usable.filter((it) => !isCard(it.method.type)), ...usable.filter((it) => isCard(it.method.type))];
}

export function hasWallet(user: SessionUser | null): boolean {
  return Boolean(user?.connectedAccounts?.some((account) => account.provider === 'wallet'));
}

const preferenceKey = (did: string | undefined) => `payment-currency-preference${did ? `:${did}` : ''}`;

export function rememberedCurrency(user: SessionUser | null, storage: Pick<Storage, 'getItem'>): string | null {
  return storage.getItem(preferenceKey(user?.did));
}

export function rememberCurrency(
  user: SessionUser | null,
  currencyId: string,
  storage: Pick<Storage, 'setItem'>,
): void {
  storage.setItem(preferenceKey(user?.did), currencyId);
}

export interface CurrencyWishes {
  /** The query `currencyId`. */
  asked: string | null;
  remembered: string | null;
  /** The currency of the session. */
  session: string;
  user: SessionUser | null;
}

/** Where the choice starts: asked for in the address, card without a wallet, remembered, the session's own, the first. */
export function startingOption(options: PayOption[], wishes: CurrencyWishes): PayOption | null {
  const byId = (id: string | null) => options.find((it) => it.currency.id === id);
  const card = wishes.user && !hasWallet(wishes.user) ? options.find((it) => isCard(it.method.type)) : undefined;
  return byId(wishes.asked) ?? card ?? byId(wishes.remembered) ?? byId(wishes.session) ?? options[0] ?? null;
}
