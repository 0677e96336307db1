import { api } from '@/api/client';
import type { CheckoutSession, Overdue, Price } from '../types';

const url = (id: string, action: string) => `/api/checkout-sessions/${id}/${action}`;

/** The cross-sell offer of the order; null if there is none. */
export const fetchCrossSell = (id: string, currencyId?: string): Promise<Price | null> =>
  api
    .get<Price | { error: string }>(url(id, 'cross-sell'), { skipError: true, currency_id: currencyId })
    .then((offer) => ('id' in offer ? offer : null));

/** Each change returns the updated session. */
export const upsell = (id: string, from: string, to: string, currencyId: string) =>
  api.put<CheckoutSession>(url(id, 'upsell'), { from, to, currency_id: currencyId });
export const downsell = (id: string, from: string) => api.put<CheckoutSession>(url(id, 'downsell'), { from });
export const addCrossSell = (id: string, to: string, currencyId: string) =>
  api.put<CheckoutSession>(url(id, 'cross-sell'), { to, currency_id: currencyId });
export const removeCrossSell = (id: string) => api.delete<CheckoutSession>(url(id, 'cross-sell'));

/** `amount`: base units of the currency. */
export const setAmount = (id: string, priceId: string, amount: string, currencyId: string) =>
  api.put<CheckoutSession>(url(id, 'amount'), { priceId, amount, currencyId });

/** `owner`: customer id or DID. */
export const fetchOverdue = (owner: string) => api.get<Overdue>(`/api/customers/${owner}/overdue/invoices`);
