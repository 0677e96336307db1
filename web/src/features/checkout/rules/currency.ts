import type { CheckoutSession, Currency, MethodType, PaymentMethod, SessionUser } from '../types';
import { effectivePrice, supportsCurrency } from './price';

/** A payment option: a currency and its payment method. */
export interface PayOption {
  currency: Currency;
  method: PaymentMethod;
}

export const isCard = (type: MethodType): boolean => type === 'stripe';

/** The payment options of an order: active currencies in which every item is priced, wallets first. */
export function payOptions(methods: PaymentMethod[], session: CheckoutSession): PayOption[] {
  const options = methods
    .filter((method) => method.active !== false && method.type !== 'bitcoin')
    .flatMap((method) =>
      method.payment_currencies.filter((each) => each.active !== false).map((currency) => ({ currency, method })),
    );
  const usable = options.filter(({ currency }) =>
    session.line_items.every((item) => supportsCurrency(effectivePrice(item), currency.id)),
  );
  return [...usable.filter((each) => !isCard(each.method.type)), ...usable.filter((each) => isCard(each.method.type))];
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

export interface CurrencyPreferences {
  /** The `currencyId` parameter. */
  requested: string | null;
  remembered: string | null;
  /** The currency of the session. */
  session: string;
  user: SessionUser | null;
}

/**
 * The initial option: the requested currency, a card if the user has no wallet, the remembered one, the session's, the
 * first.
 */
export function defaultOption(options: PayOption[], preferences: CurrencyPreferences): PayOption | null {
  const byId = (id: string | null) => options.find((each) => each.currency.id === id);
  const card =
    preferences.user && !hasWallet(preferences.user) ? options.find((each) => isCard(each.method.type)) : undefined;
  return (
    byId(preferences.requested) ??
    card ??
    byId(preferences.remembered) ??
    byId(preferences.session) ??
    options[0] ??
    null
  );
}
