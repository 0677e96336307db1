import type { components } from './schema';
import type * as read from './types';

/**
 * Fails the type check when the server's document no longer has a field that the pages read. `schema.d.ts` is made
 * from `openapi.json` by `npm run api:types`.
 */
type Documented = components['schemas'];
type Unknown<Read, Served, Later = never> = Exclude<keyof Read, keyof Served | Later>;

interface Gaps {
  store: Unknown<read.StoreInfo, Documented['Store']>;
  user: Unknown<read.SessionUser, Documented['SessionUser']>;
  category: Unknown<read.Category, Documented['Category']>;
  app: Unknown<read.App, Documented['App']>;
  detail: Unknown<read.AppDetail, Documented['AppDetail']>;
  version: Unknown<read.AppVersion, Documented['AppVersion']>;
  price: Unknown<read.AppPrice, Documented['AppPrice']>;
  entitlement: Unknown<read.Entitlement, Documented['Entitlement']>;
  invoice: Unknown<read.InvoiceDetail, Documented['Invoice'], 'tax' | 'status_transitions'>;
  line: Unknown<read.InvoiceLine, Documented['InvoiceLine'], 'price'>;
  reference: Unknown<read.InvoiceSubscription, Documented['SubscriptionReference']>;
  payment: Unknown<read.PaymentIntent, Documented['PaymentIntent'], 'checkoutSession'>;
  customer: Unknown<read.Customer, Documented['Customer'], 'fullName' | 'metadata'>;
  currency: Unknown<read.PaymentCurrency, Documented['PaymentCurrency']>;
  method: Unknown<read.PaymentMethod, Documented['PaymentMethod']>;
  plan: Unknown<read.AppPlan, Documented['AppPlan']>;
  recurring: Unknown<read.Recurring, Documented['Recurring']>;
  sold: Unknown<read.Price, Documented['Price']>;
}

/** Assignable only while every gap is `never`. */
export type Complete<T extends Record<keyof Gaps, never> = Gaps> = T;
