import type { PaymentCurrency, PaymentMethod } from '@/api/types';

export interface Payable {
  /** Method and currency in one word, for a radio button. */
  value: string;
  method: PaymentMethod;
  currency: PaymentCurrency;
}

/** Bitcoin has no way to pull a payment. */
const RECURRING = new Set(['arcblock', 'ethereum', 'base', 'stripe']);

/** What future invoices can be paid with: each active currency that all prices of the plan have, by its method. */
export function payables(methods: PaymentMethod[], isPriced: (currencyId: string) => boolean): Payable[] {
  return methods
    .filter(({ type, active }) => RECURRING.has(type) && active !== false)
    .flatMap((method) =>
      (method.payment_currencies ?? [])
        .filter(({ id, active }) => active !== false && isPriced(id))
        .map((currency) => ({ value: `${method.id}/${currency.id}`, method, currency })),
    );
}
