import type { PaymentCurrency, PaymentMethod } from '@/api/types';

export interface MethodOption {
  /** Method and currency in one value, for a radio button. */
  value: string;
  method: PaymentMethod;
  currency: PaymentCurrency;
}

/** The types that support recurring payments: Bitcoin does not. */
const RECURRING = new Set(['arcblock', 'ethereum', 'base', 'stripe']);

/** The options for future invoices: each active currency that all prices of the plan have, with its method. */
export function methodOptions(methods: PaymentMethod[], isPriced: (currencyId: string) => boolean): MethodOption[] {
  return methods
    .filter(({ type, active }) => RECURRING.has(type) && active !== false)
    .flatMap((method) =>
      (method.payment_currencies ?? [])
        .filter(({ id, active }) => active !== false && isPriced(id))
        .map((currency) => ({ value: `${method.id}/${currency.id}`, method, currency })),
    );
}
