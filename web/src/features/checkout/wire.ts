/** What the payment kit sends: the names of the wire, only the fields this screen reads. `amt`: base units as text. */

import type { Address, Recurring, StripeContext } from '@/api/types';

export type { Address, Recurring, StripeContext };

export type Localized = { en?: string; zh?: string };

export interface Currency {
  id: string;
  symbol: string;
  decimal: number;
  name: string;
  logo?: string | null;
  active?: boolean;
  maximum_precision?: number;
  payment_method_id: string;
}

export type MethodType = 'arcblock' | 'ethereum' | 'base' | 'bitcoin' | 'stripe';

export interface CardSettings {
  publishable_key: string;
  api_host?: string;
}

export interface PaymentMethod {
  id: string;
  type: MethodType;
  name: string;
  description?: string | null;
  logo?: string | null;
  active?: boolean;
  livemode: boolean;
  settings: { stripe?: CardSettings; arcblock?: { explorer_host?: string } };
  payment_currencies: Currency[];
}

export interface CustomUnitAmount {
  preset?: string | null;
  presets?: string[] | null;
  minimum?: string | null;
  maximum?: string | null;
}

/** Units up to and including `up_to`; the last tier has no end. */
export interface Tier {
  up_to?: number | null;
  unit_amount: string;
  flat_amount?: string | null;
}

export interface CurrencyOption {
  currency_id: string;
  unit_amount: string | null;
  tiers?: Tier[] | null;
  custom_unit_amount?: CustomUnitAmount | null;
}

export interface Product {
  id: string;
  name: string;
  /** Where the seller gave them; `name` and so on stand in every other language. */
  name_zh?: string | null;
  description?: string | null;
  description_zh?: string | null;
  images?: string[];
  unit_label?: string | null;
  unit_label_zh?: string | null;
  statement_descriptor?: string | null;
  /** The app that this product sells. */
  app_did?: string | null;
  cross_sell?: { cross_sells_to_id: string } | null;
}

export interface Price {
  id: string;
  type: 'one_time' | 'recurring';
  currency_id: string;
  unit_amount: string | null;
  custom_unit_amount?: CustomUnitAmount | null;
  currency_options?: CurrencyOption[] | null;
  recurring?: Recurring | null;
  tiers_mode?: 'graduated' | 'volume' | null;
  tiers?: Tier[] | null;
  upsell?: { upsells_to_id: string; upsells_to?: Price | null } | null;
  product?: Product;
  quantity_available?: number | null;
  quantity_sold?: number | null;
  quantity_limit_per_checkout?: number | null;
}

export interface LineItem {
  price_id: string;
  price: Price;
  quantity: number;
  upsell_price?: Price | null;
  custom_amount?: string | null;
  cross_sell?: boolean;
  adjustable_quantity?: { enabled: boolean; minimum?: number | null; maximum?: number | null } | null;
}

export interface FieldRule {
  pattern?: string;
  pattern_message?: Localized;
}

export interface PageInfo {
  field_validation?: Record<string, FieldRule>;
  form_purpose_description?: Localized;
}

export interface SubscriptionData {
  trial_period_days?: number | null;
  trial_end?: number | null;
  trial_currency?: string | null;
  no_stake?: boolean | null;
  /** Human units of the chosen currency, like the next. */
  min_stake_amount?: number | string | null;
  billing_threshold_amount?: number | string | null;
}

export interface CheckoutSession {
  id: string;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid' | 'no_payment_required';
  mode: 'payment' | 'setup' | 'subscription';
  currency_id: string;
  line_items: LineItem[];
  /** Unix seconds. */
  expires_at: number;
  livemode: boolean;
  amount_total?: string;
  /** Once complete: what was refunded or is about to be. */
  amount_refunded?: string | null;
  cancel_url?: string | null;
  success_url?: string | null;
  invoice_id?: string | null;
  /** Once complete: what the buyer may now download. */
  entitlements?: Entitlement[];
  customer_id?: string | null;
  cross_sell_behavior?: string | null;
  phone_number_collection?: { enabled: boolean } | null;
  billing_address_collection?: string | null;
  subscription_data?: SubscriptionData | null;
  due?: Due | null;
  /** Once complete: what a wallet has deposited, in base units. */
  stake_amount?: string | null;
  /** How many days after the end of the subscriptions a deposit is returned. */
  stake_return_days?: number;
  submit_type?: string | null;
  subscription_id?: string | null;
  /** When the session has made more than one. */
  subscriptions?: { id: string; description?: string | null; price_ids?: string[] }[] | null;
  metadata?: { page_info?: PageInfo } | null;
}

/** Why a network or a bank declined. */
export interface PaymentError {
  code?: string;
  message?: string;
}

export interface PaymentIntent {
  id: string;
  status: string;
  amount?: string;
  currency_id?: string;
  last_payment_error?: PaymentError | null;
}

export interface Customer {
  id?: string;
  did?: string;
  name?: string | null;
  fullName?: string | null;
  email?: string | null;
  phone?: string | null;
  address?: Address | null;
}

export interface Entitlement {
  app_did: string;
  title: Localized;
  version: string;
  logo?: string | null;
  /** Revoked by a refund; suspended while the payment is disputed. */
  status?: 'active' | 'revoked' | 'suspended';
}

/** The server's own arithmetic, in the currency of the session. `stake` comes on top of `now`. */
export interface Due {
  now: string;
  renew: string;
  stake: string;
  trial_end?: number | null;
}

export interface Checkout {
  checkoutSession: CheckoutSession;
  paymentMethods: PaymentMethod[];
  paymentIntent?: PaymentIntent | null;
  paymentLink?: {
    id: string;
    after_completion?: {
      hosted_confirmation?: { custom_message?: string | null; custom_messages?: Localized | null } | null;
    } | null;
  } | null;
  customer?: Customer | null;
  /** Of whoever is signed in, while the session is open. */
  buyer?: Buyer | null;
}

/** What the customer has of an order's products already. */
export interface Buyer {
  trial_used: boolean;
  subscriptions: { id: string; product_id: string }[];
  /** DIDs of apps that would be bought again. */
  owned_apps: string[];
}

/** What was permitted or is held already, so that no wallet is needed. */
export interface FastPayInfo {
  type: 'delegation' | 'credit';
  amount: string;
  payer: string;
}

export interface Submitted {
  checkoutSession?: CheckoutSession | null;
  balance?: { sufficient?: boolean } | null;
  delegation?: { sufficient?: boolean } | null;
  fastPayInfo?: FastPayInfo | null;
  paymentIntent?: PaymentIntent | null;
  stripeContext?: StripeContext | null;
  customer?: Customer | null;
}

export interface SessionUser {
  did: string;
  fullName?: string | null;
  email?: string | null;
  phone?: string | null;
  connectedAccounts?: { provider: string; did?: string }[];
  address?: Address | null;
}

export interface Overdue {
  /** By currency id. */
  summary: Record<string, { amount: string; currency: Currency; method: PaymentMethod }>;
  invoices: { id: string; currency_id: string }[];
  customer?: { id: string } | null;
}
