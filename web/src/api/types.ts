/** Text in both languages of the store. */
export interface Text {
  en: string;
  zh: string;
}

/** Lists of the server: `count` is the number of all matches, `list` one page of them. */
export interface Page<T> {
  count: number;
  list: T[];
}

export interface StoreInfo {
  name: string;
  description: Text;
  url: string;
  appPid: string;
  logo: string | null;
  demo: boolean;
  languages: string[];
  analytics: { script: string | null };
  errors: { url: string | null; sample_rate: number };
}

export interface Address {
  country?: string | null;
  state?: string | null;
  city?: string | null;
  line1?: string | null;
  line2?: string | null;
  postal_code?: string | null;
}

export interface SessionUser {
  did: string;
  fullName: string;
  email: string | null;
  phone: string | null;
  avatar: string | null;
  role: 'owner' | 'admin' | 'developer' | '';
  passports: { role: string; name: string }[];
  connectedAccounts: { provider: string; did: string; pk?: string }[];
  address: Address | null;
}

export interface Session {
  user: SessionUser | null;
}

export interface Category {
  id: string;
  slug: string;
  name: Text;
  app_count?: number;
}

export interface AppPrice {
  currency_id: string;
  symbol: string;
  decimal: number;
  /** Base units. */
  unit_amount: string;
  method_type: string;
}

export interface App {
  did: string;
  name: string;
  title: Text;
  description: Text;
  logo: string | null;
  category: Category | null;
  developer: { did: string; name: string; verified: boolean };
  pricing: 'free' | 'paid';
  payment_link_id: string | null;
  prices: AppPrice[];
  version: string;
  downloads: number;
  downloads_month: number;
  /** Bytes. */
  size: number;
  created_at: string;
  updated_at: string;
  entitled: boolean;
}

export interface AppVersion {
  version: string;
  published_at: string;
  changelog: Text;
  size: number;
  sha256: string;
}

export interface AppDetail extends App {
  readme: Text;
  screenshots: { url: string; width: number; height: number; alt: Text }[];
  versions: AppVersion[];
  license: string | null;
  website: string | null;
}

export interface Shelves {
  new: App[];
  updated: App[];
  trending: App[];
}

export interface Entitlement {
  id: string;
  app: App;
  acquired_at: string;
  checkout_session_id: string | null;
  invoice_id: string | null;
}

export interface PaymentCurrency {
  id: string;
  symbol: string;
  decimal: number;
  logo?: string | null;
  name?: string;
  active?: boolean;
  maximum_precision?: number | null;
  payment_method_id?: string;
}

export interface PaymentMethod {
  id: string;
  type: string;
  name: string;
  logo?: string | null;
  livemode?: boolean;
  active?: boolean;
  settings?: {
    arcblock?: { chain_id?: string; api_host?: string; explorer_host?: string };
    ethereum?: { explorer_host?: string };
    base?: { explorer_host?: string };
    bitcoin?: { explorer_host?: string };
    stripe?: { publishable_key?: string; api_host?: string; dashboard?: string };
  };
  payment_currencies?: PaymentCurrency[];
}

export interface PaymentDetails {
  arcblock?: { tx_hash: string; payer?: string; type?: string };
  ethereum?: { tx_hash: string; payer?: string; gas_price?: string; gas_used?: string };
  base?: { tx_hash: string; payer?: string };
  bitcoin?: { tx_hash: string; payer?: string };
  stripe?: { payment_intent_id?: string };
}

export interface Customer {
  id: string;
  did?: string;
  name?: string | null;
  fullName?: string | null;
  email?: string | null;
  phone?: string | null;
  address?: Address | null;
  metadata?: Record<string, unknown>;
}

export type InvoiceStatus = 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';

export interface InvoiceLine {
  description: string | null;
  quantity: number;
  /** Base units. */
  amount: string;
  price?: { unit_amount?: string; product?: { name?: string } } | null;
}

export interface Invoice {
  id: string;
  number: string | null;
  status: InvoiceStatus;
  billing_reason: string;
  description: string | null;
  /** Base units, as all amounts below. */
  total: string;
  subtotal?: string;
  tax?: string;
  amount_due?: string;
  amount_paid?: string;
  amount_remaining?: string;
  created_at: string;
  customer_id: string;
  subscription_id?: string | null;
  subscription?: { id?: string; description?: string | null } | null;
  currency_id?: string;
  paymentCurrency: PaymentCurrency;
  paymentMethod: PaymentMethod | null;
  metadata?: { payment_details?: PaymentDetails } & Record<string, unknown>;
  livemode: boolean;
}

export interface InvoiceDetail extends Invoice {
  customer: Customer | null;
  lines: InvoiceLine[];
  checkoutSession?: { id: string } | null;
  customer_name?: string | null;
  customer_email?: string | null;
  customer_phone?: string | null;
  customer_address?: Address | null;
  paid_at?: string | null;
  status_transitions?: { paid_at?: string | number | null; finalized_at?: string | number | null };
  invoice_pdf?: string | null;
}

export interface PaymentIntent {
  id: string;
  status: string;
  amount: string;
  amount_received?: string;
  description: string | null;
  created_at: string;
  invoice_id?: string | null;
  last_payment_error?: { message?: string } | null;
  paymentCurrency: PaymentCurrency;
  paymentMethod: PaymentMethod | null;
  payment_details?: PaymentDetails | null;
  checkoutSession?: { id: string } | null;
}
