/**
 * Response types of the payment kit: API field names, only the fields that this page reads. Amounts are base units as
 * strings.
 */

import type { components } from '@/api/schema';
import type {
  Address,
  Customer as ApiCustomer,
  Overdue as ApiOverdue,
  PaymentIntent as ApiPaymentIntent,
  PaymentMethod as ApiPaymentMethod,
  Price as ApiPrice,
  SessionUser as ApiSessionUser,
  Invoice,
  PaymentCurrency,
  Recurring,
  StripeContext,
} from '@/api/types';

export type { Address, Recurring, StripeContext };

export type Localized = { en?: string; zh?: string };

export type Currency = PaymentCurrency & Required<Pick<PaymentCurrency, 'name' | 'payment_method_id'>>;

export type MethodType = 'arcblock' | 'ethereum' | 'base' | 'bitcoin' | 'stripe';

export interface CardSettings {
  publishable_key: string;
  api_host?: string;
}

export interface PaymentMethod extends ApiPaymentMethod {
  type: MethodType;
  description?: string | null;
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

/** Covers units up to and including `up_to`; the last tier has no upper bound. */
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

/** `name` etc. are used for every language but Chinese. */
export interface Product extends NonNullable<ApiPrice['product']> {
  id: string;
  statement_descriptor?: string | null;
  /** The app that this product sells. */
  app_did?: string | null;
  cross_sell?: { cross_sells_to_id: string } | null;
}

export interface Price extends Omit<ApiPrice, 'currency_options'> {
  custom_unit_amount?: CustomUnitAmount | null;
  currency_options?: CurrencyOption[] | null;
  tiers_mode?: 'graduated' | 'volume' | null;
  tiers?: Tier[] | null;
  upsell?: { upsells_to_id: string; upsells_to?: Price | null } | null;
  product?: Product;
  quantity_available?: number | null;
  quantity_sold?: number | null;
  quantity_limit_per_checkout?: number | null;
}

export interface LineItem extends Pick<components['schemas']['LineItem'], 'price_id' | 'quantity'> {
  price: Price;
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
  /** Decimal units of the chosen currency, like the next field. */
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
  /** Once complete: refunded, or about to be. */
  amount_refunded?: string | null;
  cancel_url?: string | null;
  success_url?: string | null;
  invoice_id?: string | null;
  /** Once complete: the apps that the buyer can download. */
  entitlements?: Entitlement[];
  customer_id?: string | null;
  cross_sell_behavior?: string | null;
  phone_number_collection?: { enabled: boolean } | null;
  billing_address_collection?: string | null;
  subscription_data?: SubscriptionData | null;
  due?: Due | null;
  /** Once complete: the deposit in base units. */
  stake_amount?: string | null;
  /** Days after the end of the subscriptions until the deposit is returned. */
  stake_return_days: number;
  submit_type?: string | null;
  subscription_id?: string | null;
  /** Set if the session created several. */
  subscriptions?: { id: string; description?: string | null; price_ids?: string[] }[] | null;
  metadata?: { page_info?: PageInfo } | null;
}

/** The reason of a decline by a network or a bank. */
export type PaymentError = NonNullable<ApiPaymentIntent['last_payment_error']>;

export interface PaymentIntent
  extends Pick<ApiPaymentIntent, 'id' | 'status'>,
    Partial<Pick<ApiPaymentIntent, 'amount' | 'last_payment_error'>> {
  currency_id?: string;
}

export type Customer = Partial<ApiCustomer>;

export interface Entitlement {
  app_did: string;
  title: Localized;
  version: string;
  logo?: string | null;
  /** Revoked by a refund; suspended while the payment is disputed. */
  status?: 'active' | 'revoked' | 'suspended';
}

/** The server's quote in the currency of the session. `stake` is added to `now`. */
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
  /** Data of the signed-in user, while the session is open. */
  buyer?: Buyer | null;
}

/** What the customer already owns of the order's products. */
export interface Buyer {
  trial_used: boolean;
  subscriptions: { id: string; product_id: string }[];
  /** DIDs of owned apps in the order. */
  owned_apps: string[];
}

/** An existing mandate or balance that can pay without the wallet. */
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

export interface SessionUser
  extends Pick<ApiSessionUser, 'did'>,
    Partial<Pick<ApiSessionUser, 'email' | 'phone' | 'address'>> {
  fullName?: string | null;
  connectedAccounts?: { provider: string; did?: string }[];
}

export interface Overdue extends Pick<ApiOverdue, 'customer'> {
  /** By currency id. */
  summary: Record<string, { amount: string; currency: Currency; method: PaymentMethod }>;
  invoices: Required<Pick<Invoice, 'id' | 'currency_id'>>[];
}
