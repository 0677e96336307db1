import { api } from '@/api/client';
import type { CheckoutSession, Overdue, Price } from '../wire';

const address = (id: string, change: string) => `/api/checkout-sessions/${id}/${change}`;

/** What is offered beside the order; null when nothing is. */
export const fetchCrossSell = (id: string, currencyId?: string): Promise<Price | null> =>
  api
    .get<Price | { error: string }>(address(id, 'cross-sell'), { skipError: true, currency_id: currencyId })
    .then((offer) => ('id' in offer ? offer : null));

/** Each change answers with the whole order as it is now. */
export const upsell = (id: string, from: string, to: string, currencyId: string) =>
  api.put<CheckoutSession>(address(id, 'upsell'), { from, to, currency_id: currencyId });
export const downsell = (id: string, from: string) => api.put<CheckoutSession>(address(id, 'downsell'), { from });
export const addCrossSell = (id: string, to: string, currencyId: string) =>
  api.put<CheckoutSession>(address(id, 'cross-sell'), { to, currency_id: currencyId });
export const removeCrossSell = (id: string) => api.delete<CheckoutSession>(address(id, 'cross-sell'));

/** `amount`: base units of the currency. */
export const setAmount = (id: string, priceId: string, amount: string, currencyId: string) =>
  api.put<CheckoutSession>(address(id, 'amount'), { priceId, amount, currencyId });

/** `owner`: a customer's id or DID. */
export const fetchOverdue = (owner: string) => api.get<Overdue>(`/api/customers/${owner}/overdue/invoices`);
