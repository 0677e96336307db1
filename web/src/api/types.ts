import type { components } from './schema';

type Schemas = components['schemas'];

/** A schema of openapi.json in which optional fields are always present, null if empty: the server sends all fields. */
type ServerObject<Name extends keyof Schemas> = {
  [Key in keyof Schemas[Name]]-?: undefined extends Schemas[Name][Key]
    ? Exclude<Schemas[Name][Key], undefined> | null
    : Schemas[Name][Key];
};

/** Narrows fields whose values openapi.json only describes in prose. An unknown field is a type error. */
type Narrow<T, Fields extends { [Key in keyof Fields]: Key extends keyof T ? unknown : never }> = Omit<
  T,
  keyof Fields
> &
  Fields;

export type Login = ServerObject<'Login'>;
/** A computer on which the user is signed in with the command line. */
export type Device = ServerObject<'Device'>;

export type AuditEntry = Narrow<
  ServerObject<'AuditEntry'>,
  {
    actor: { type: 'user' | 'key' | 'command'; id: string; name: string };
    livemode?: boolean | null;
    address?: string | null;
  }
>;

export type Examination = Narrow<
  ServerObject<'Examination'>,
  { list: { code: string; severity: 'error' | 'warning' | 'notice'; params: Record<string, string> }[] }
>;

/** Bilingual text of the store. */
export interface Text {
  en: string;
  zh: string;
}

/** A page of a list; `count` is the number of all matches. */
export interface Page<T> {
  count: number;
  list: T[];
}

/** Whether the customer's address gets the emails of test mode. */
export type EmailConfirmation = Schemas['EmailConfirmation'];
export type ConfirmedEmail = Schemas['ConfirmedEmail'];

export interface StoreInfo {
  name: string;
  description: Text;
  url: string;
  appPid: string;
  logo: string | null;
  demo: boolean;
  /** Whether test mode's sandbox is on. */
  sandbox: boolean;
  /** Whether emails are sent; else they are files in the mail folder. */
  mail_server: boolean;
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
  /** Whether the user has uploaded the avatar; else the store has drawn it. */
  hasPicture: boolean;
  role: 'owner' | 'admin' | 'reviewer' | 'developer' | '';
  passports: { role: string; name: string }[];
  connectedAccounts: { provider: string; did: string; pk?: string }[];
  address: Address | null;
  /** The space in which the user keeps their own data. */
  didSpace?: { did: string; endpoint: string };
}

export interface Session {
  user: SessionUser | null;
}

/** The preferences of publishing. Amounts, prices and shares are decimal texts. */
export interface Preferences {
  permission_mode: 'inviting' | 'staking';
  review_required: boolean;
  review_type: 'FIRST' | 'EACH';
  stake_currency: string;
  passport_stake_amount: string;
  passport_waiting_days: number;
  publish_stake_amount: string;
  publish_waiting_days: number;
  bundle_max_mb: number;
  logo_max_kb: number;
  logo_types: string[];
  image_max_mb: number;
  image_count_min: number;
  image_count_max: number;
  image_width_min: number;
  image_height_min: number;
  paid_apps_allowed: boolean;
  price_min: string;
  price_max: string;
  store_share: string;
  github_issuers: string[];
  gitlab_issuers: string[];
  version: number;
  changed_at: string | null;
}

export interface AccessToken {
  /** The DID of its key. */
  id: string;
  name: string;
  scopes: string[];
  /** Names or DIDs of apps, in which `*` stands for any characters. */
  apps: string[];
  status: 'active' | 'expired' | 'revoked';
  created_at: string;
  expires_at: string;
  last_used_at: string | null;
}

export type VersionStatus =
  | 'DRAFT'
  | 'PENDING_REVIEW'
  | 'IN_REVIEW'
  | 'APPROVED'
  | 'REJECTED'
  | 'PUBLISHED'
  | 'CANCELLED';
export type ReviewType = 'FIRST' | 'EACH';

export type UploadedApp = Narrow<ServerObject<'UploadedApp'>, { review_type: ReviewType | null }>;
export type UploadedVersion = Narrow<
  ServerObject<'UploadedVersion'>,
  {
    status: VersionStatus;
    appeal: 'open' | 'granted' | 'denied' | null;
    yanked_by: 'developer' | 'store' | null;
    type: AppType | null;
  }
>;
/** What kind of app a version is; null where it stands: a resource without a screen of its own. */
export type AppType = 'dapp' | 'static' | 'gateway' | 'pack';
/** The highest version of an app that was uploaded. */
export type LatestVersion = Narrow<
  ServerObject<'LatestVersion'>,
  {
    status: VersionStatus;
    yanked_by: UploadedVersion['yanked_by'];
    type: AppType | null;
    source: 'WEBSITE' | 'STUDIO' | 'CLI';
  }
>;
/** An app in the list of its developer. */
export type DeveloperApp = Narrow<
  ServerObject<'DeveloperApp'>,
  { review_type: ReviewType | null; latest_version: LatestVersion; terms: SellingTerms }
>;
export type UploadedVersionList = Narrow<
  ServerObject<'UploadedVersionList'>,
  { app: UploadedApp; list: UploadedVersion[] }
>;
export type QueuedVersion = Narrow<
  ServerObject<'QueuedVersion'>,
  {
    version: UploadedVersion;
    reason: 'first_version' | 'every_version' | 'risky_differences' | 'appeal' | null;
  }
>;
export type ReviewEntry = ServerObject<'ReviewEntry'>;
/** In which role the signed-in user acts towards an app. */
export type ReviewRole = 'app_owner' | 'reviewer' | 'admin' | 'store_owner';
export type VersionReview = Narrow<
  ServerObject<'VersionReview'>,
  {
    app: UploadedApp;
    version: UploadedVersion;
    role: ReviewRole;
    need: 'first_version' | 'every_version' | 'risky_differences' | null;
  }
>;
export type SellingTerms = Narrow<
  ServerObject<'SellingTerms'>,
  { type: 'free' | 'one_time' | 'other'; currency: PaymentCurrency | null }
>;
export type AppPricing = Narrow<
  ServerObject<'AppPricing'>,
  { in_force: SellingTerms; proposed: SellingTerms | null; currencies: PaymentCurrency[] }
>;
export type AppPricingInput = Schemas['AppPricingInput'];
export type AppEarning = Narrow<
  ServerObject<'AppEarning'>,
  { app_title: Text | null; currency: PaymentCurrency | null }
>;
/** A beneficiary of sales in one currency; amounts in base units. */
export type Payee = Narrow<ServerObject<'Payee'>, { currency: PaymentCurrency | null }>;
export type Earnings = Narrow<ServerObject<'Earnings'>, { list: AppEarning[]; totals: Payee[] }>;
export type SharePayout = Narrow<ServerObject<'SharePayout'>, { currency: PaymentCurrency | null }>;

export type VersionTerms = Narrow<
  ServerObject<'VersionTerms'>,
  { in_force: SellingTerms; proposed: SellingTerms | null }
>;
export type ComparedText = Narrow<
  ServerObject<'ComparedText'>,
  { kind: 'description' | 'readme' | 'changelog'; hunks: DiffHunk[] }
>;
export type DiffLine = Narrow<ServerObject<'DiffLine'>, { change: 'same' | 'added' | 'removed' }>;
export type DiffHunk = Narrow<ServerObject<'DiffHunk'>, { lines: DiffLine[] }>;
export type ComparedValue = ServerObject<'ComparedValue'>;
export type DependencyNeed = ServerObject<'DependencyNeed'>;
export type ComparedDependency = Narrow<
  ServerObject<'ComparedDependency'>,
  { before: DependencyNeed | null; after: DependencyNeed | null }
>;
export type ChangedFile = ServerObject<'ChangedFile'>;
export type ShownPicture = ServerObject<'ShownPicture'>;
export type ComparedPicture = Narrow<
  ServerObject<'ComparedPicture'>,
  { before: ShownPicture | null; after: ShownPicture | null }
>;
/** What differs between a version and the published one. */
export type VersionComparison = Narrow<
  ServerObject<'VersionComparison'>,
  {
    texts: ComparedText[];
    scripts: ComparedValue[];
    dependencies: ComparedDependency[];
    fields: ComparedValue[];
    terms: VersionTerms[];
    files: Narrow<ServerObject<'ChangedFiles'>, { list: ChangedFile[] }> | null;
    pictures: ComparedPicture[];
  }
>;

export type CheckFinding = ServerObject<'CheckFinding'>;
export type VersionCheck = Narrow<
  ServerObject<'VersionCheck'>,
  { state: 'passed' | 'failed' | 'errored'; findings: CheckFinding[] }
>;

export interface CreatedAccessToken {
  token: AccessToken;
  /** In this answer only. */
  secret_key: string;
}

/** An issuer of CI tokens that the store accepts. */
export interface CiIssuer {
  address: string;
  provider: 'github' | 'gitlab';
}

/** A repository whose CI may publish in the name of a developer. */
export interface TrustedPublisher {
  id: string;
  issuer: string;
  repository: string;
  /** The provider's id of the repository; null: the first run sets it. */
  repository_id: string | null;
  /** null: any. */
  workflow: string | null;
  /** null: any. */
  environment: string | null;
  protected_refs_only: boolean;
  scopes: string[];
  /** Names or DIDs of apps, in which `*` stands for any characters. */
  apps: string[];
  /** `not_accepted`: the store no longer accepts its issuer. */
  status: 'active' | 'revoked' | 'not_accepted';
  created_at: string;
  last_used_at: string | null;
}

export interface TrustedPublisherList extends Page<TrustedPublisher> {
  /** None: trusted publishing is off. */
  issuers: CiIssuer[];
  /** The audience that CI tokens for this store name. */
  audience: string;
}

/** A file or a bundle that no version may contain. */
export interface BlockedDigest {
  sha256: string;
  reason: string;
  created_at: string;
  /** The uploaded versions that contain it. */
  version_count: number;
  /** Those of them that new users can get. */
  offered_count: number;
}

/** An uploaded version that contains a file. */
export interface ContainingVersion {
  /** The DID of the app. */
  did: string;
  /** The name of the app. */
  name: string;
  version: string;
  status: VersionStatus;
  is_offered: boolean;
  uploaded_at: string;
}

/** An instance of an app that its server has registered. */
export interface AppInstance {
  appId: string;
  blockletDid: string;
  ownerDid: string;
  appUrl: string;
  createdAt: string;
  updatedAt: string;
}

/** What a developer's tool asks for. */
export interface ToolRequest {
  action: 'connect-cli' | 'connect-studio' | 'gen-key-pair' | 'login-cli';
  /** What the tool calls itself; empty if it does not say. */
  source: string;
  /** The network address of the request. */
  address: string | null;
  /** The code to compare with the one in the terminal; null if the tool gets nothing secret. */
  code: string | null;
  /** The names of the apps that get a key. */
  apps: string[];
  created_at: string;
  expires_at: string;
}

export interface ApprovedTool {
  /** Null if the tool asked for no token. */
  access_token: AccessToken | null;
}

/** Somebody who holds a passport; with several roles, one entry for each. */
export interface PassportHolder {
  /** The id of the passport. */
  id: string;
  did: string;
  name: string;
  role: 'developer' | 'reviewer' | 'admin' | 'owner';
  since: string;
  apps: number;
}

export interface Invitation {
  id: string;
  role: 'developer' | 'reviewer' | 'admin';
  status: 'open' | 'used' | 'revoked' | 'expired';
  created_by: string;
  created_at: string;
  expires_at: string;
  used_by: string | null;
  used_at: string | null;
}

export interface CreatedInvitation {
  invitation: Invitation;
  /** In this answer only. */
  link: string;
}

/** A user who gets no passport. */
export interface BlockedUser {
  did: string;
  name: string;
  blocked_at: string;
}

/** What a deposit costs; the amount is in base units. */
export type DepositTerms = Narrow<ServerObject<'DepositTerms'>, { currency: PaymentCurrency }>;

/** How the store accepts developers, and where the signed-in user stands. */
export type DeveloperProgram = Narrow<
  ServerObject<'DeveloperProgram'>,
  {
    permission_mode: Preferences['permission_mode'];
    membership: DepositTerms | null;
    publication: DepositTerms | null;
    standing: Narrow<ServerObject<'DeveloperStanding'>, { deposit: Stake | null }> | null;
  }
>;

/** The deposit for an app. */
export type AppDeposit = Narrow<ServerObject<'AppDeposit'>, { terms: DepositTerms | null; stake: Stake | null }>;

/** What the holder of an invitation's link would accept. */
export interface InvitationPreview {
  role: Invitation['role'];
  invited_by: string;
  expires_at: string;
}

export interface Category {
  id: string;
  slug: string;
  name: Text;
  app_count?: number;
}

/** A category as administrators see it, with the number of all its apps. */
export type ManagedCategory = Narrow<ServerObject<'ManagedCategory'>, { name: Text }>;

/** Where an app is; `withdrawn`: no version of it is offered. */
export type AppState = 'available' | 'blocked' | 'withdrawn' | 'unpublished';

/** An app as administrators see it. */
export type ManagedApp = Narrow<
  ServerObject<'ManagedApp'>,
  {
    title: Text | null;
    review_type: ReviewType | null;
    latest: LatestVersion | null;
    state: AppState;
    terms: SellingTerms;
  }
>;

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
  availability: 'available' | 'blocked' | 'withdrawn';
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

/** A plan of an app that customers can subscribe to. */
export interface AppPlan {
  payment_link_id: string;
  name: Text;
  description: Text;
  trial_days: number;
  unit_label?: Text;
  recurring: Recurring;
  prices: AppPrice[];
  /** The visitor's own subscription to it. */
  subscription_id?: string;
}

export interface AppDetail extends App {
  plans: AppPlan[];
  readme: Text;
  screenshots: { url: string; width: number; height: number; alt: Text }[];
  versions: AppVersion[];
  /** Whether `souk install` installs it. */
  installable: boolean;
  license: string | null;
  website: string | null;
  /** On what the shown version runs. Empty: on any. */
  requirements: { server: string; nodejs: string; os: string[]; cpu: string[] };
  /** Whether it brings an image for Docker. */
  docker: boolean;
  /** The apps that it needs or can use. */
  components: { title: string; version: string; required: boolean }[];
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
  /** The subscription that grants it; null for a one-time purchase. */
  subscription_id?: string | null;
  /** Revoked by a refund; suspended while the payment is disputed. */
  status: 'active' | 'revoked' | 'suspended';
  revoked_at?: string | null;
  suspended_at?: string | null;
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
  livemode?: boolean;
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

/** The network's gas prices and the store's stake; amounts in base units of the network's own token. */
export interface PaymentMethodGas {
  status: 'free' | 'staked' | 'ready_to_stake' | 'lacks_funds';
  /** The store's account at the network. */
  account: string;
  symbol: string;
  decimal: number;
  cost: string;
  min_stake: string;
  staked: string;
  balance: string;
  missing: string;
}

/** What a payment method's network says about it. */
export interface PaymentMethodCheck {
  works: boolean;
  problem?: { error: string; code?: string; params?: Record<string, string> } | null;
  gas?: PaymentMethodGas | null;
}

export interface PaymentDetails {
  arcblock?: { tx_hash: string; payer?: string; type?: string };
  ethereum?: { tx_hash: string; payer?: string; gas_price?: string; gas_used?: string };
  base?: { tx_hash: string; payer?: string };
  bitcoin?: { tx_hash: string; payer?: string };
  stripe?: { payment_intent_id?: string; refund_id?: string };
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

/** What an invoice, a line of it or a payment is for: in English, and as a code with the names of products. */
export interface Described {
  description: string | null;
  description_code?: string;
  /** `others`: the number of further products; absent for one product. */
  description_params?: { name?: string; name_zh?: string; others?: string };
}

export interface InvoiceSubscription {
  id?: string;
  title?: Text;
  status?: SubscriptionStatus;
  current_period_end?: number;
  cancel_at_period_end?: boolean;
}

/** The units that one tier charges. */
interface TierCharge {
  quantity: number;
  unit_amount: string;
  /** Charged once. */
  flat_amount: string;
}

/** The formula of an amount with its inputs; amounts in base units. */
export type PricingFormula =
  | { kind: 'per_unit'; unit_amount: string; quantity: number }
  | { kind: 'tiered'; charges: TierCharge[] }
  | { kind: 'custom' | 'flat'; amount: string }
  /** `whole` is the price of all of the `of_seconds`. */
  | { kind: 'prorated'; whole: string; seconds: number; of_seconds: number; rounded_up: boolean }
  /** The larger of threshold and minimum; if both are zero, the price of all recurring items for one period. */
  | { kind: 'stake'; threshold: string; minimum: string; recurring: string }
  | { kind: 'rest'; whole: PricingFormula; billed: string };

export interface InvoiceLine extends Described {
  id?: string;
  /** How the amount was computed, from the inputs stored with the line. */
  formula?: PricingFormula;
  quantity: number;
  /** In base units, like `credited`. */
  amount: string;
  /** The amount credited by credit notes. */
  credited?: string;
  period?: Span | null;
  /** End of the paid period, in Unix seconds. */
  covers_until?: number | null;
  subscription_item_id?: string | null;
  price?: { unit_amount?: string; product?: { name?: string } } | null;
}

/** The part of an invoice paid by one source; amounts in base units. */
export type InvoicePayment = Narrow<
  Pick<
    ServerObject<'InvoicePayment'>,
    'id' | 'source' | 'amount' | 'refunded' | 'disputed' | 'reversed' | 'payment_intent_id' | 'created_at'
  >,
  { source: 'network' | 'balance' | 'stake'; payment_intent_id?: string | null }
> & { paymentMethod?: PaymentMethod | null; payment_details?: PaymentDetails | null };

export type CreditNoteReason =
  | 'plan_change'
  | 'cancellation'
  | 'usage_correction'
  | 'duplicate'
  | 'fraudulent'
  | 'dispute'
  | 'other';

/**
 * Amounts are base units of `paymentCurrency`. `total` is the sum of the reduced amount due, the balance credit and the
 * refund.
 */
export type CreditNote = Narrow<
  Pick<
    ServerObject<'CreditNote'>,
    | 'id'
    | 'number'
    | 'invoice_id'
    | 'invoice_number'
    | 'customer_id'
    | 'customer'
    | 'reason'
    | 'memo'
    | 'total'
    | 'due_reduced'
    | 'to_balance'
    | 'refunded'
    | 'created_at'
    | 'paymentCurrency'
  >,
  { reason: CreditNoteReason; paymentCurrency: PaymentCurrency }
>;

/** Preview of a credit note: its amount and where the money would go. */
export type CreditNotePreview = ServerObject<'CreditNotePreview'>;

export type DisputeStatus =
  | 'inquiry'
  | 'inquiry_under_review'
  | 'inquiry_closed'
  | 'needs_response'
  | 'under_review'
  | 'won'
  | 'lost';

export type Dispute = Narrow<
  Pick<
    ServerObject<'Dispute'>,
    | 'id'
    | 'status'
    | 'amount'
    | 'fee'
    | 'feeCurrency'
    | 'funds_withdrawn'
    | 'reason'
    | 'respond_by'
    | 'payment_intent_id'
    | 'invoice_ids'
    | 'customer_id'
    | 'customer'
    | 'provider_id'
    | 'paymentCurrency'
    | 'paymentMethod'
    | 'created_at'
  >,
  {
    status: DisputeStatus;
    feeCurrency: PaymentCurrency | null;
    paymentCurrency: PaymentCurrency;
    paymentMethod: PaymentMethod | null;
  }
>;

/** A customer's balance in one currency, in base units. */
export type CustomerBalance = Narrow<
  ServerObject<'CustomerBalance'>,
  { currency: PaymentCurrency; method: PaymentMethod | null; payout_limit?: string | null }
>;

export type BalanceTransactionType =
  | 'applied_to_invoice'
  | 'unapplied_from_invoice'
  | 'credit_note'
  | 'overpayment'
  | 'payout'
  | 'payout_restored'
  | 'refund_moved'
  | 'suspense_resolved';

export type BalanceTransaction = Narrow<
  Pick<
    ServerObject<'BalanceTransaction'>,
    | 'id'
    | 'currency_id'
    | 'type'
    | 'direction'
    | 'amount'
    | 'balance_after'
    | 'source'
    | 'paymentCurrency'
    | 'created_at'
  >,
  { type: BalanceTransactionType; direction: 'increase' | 'decrease'; paymentCurrency: PaymentCurrency }
>;

export interface Invoice extends Described {
  id: string;
  /** Empty until the invoice is finalized. */
  number: string;
  status: InvoiceStatus;
  billing_reason: string;
  /** In base units, like all amounts below. */
  total: string;
  subtotal?: string;
  tax?: string;
  /** The total minus credit that reduced the amount due. */
  amount_due?: string;
  /** Payments minus reversals. */
  amount_paid?: string;
  amount_remaining?: string;
  /** Paid from the customer's balance. */
  applied_credit?: string;
  /** Refunded, or about to be. */
  amount_refunded?: string;
  /** The part of `amount_refunded` that is on its way. */
  amount_refund_pending?: string;
  /** The part of `amount_refunded` whose refund failed and waits for the store. */
  amount_refund_failed?: string;
  created_at: string;
  customer_id: string;
  subscription_id?: string | null;
  subscription?: InvoiceSubscription | null;
  currency_id?: string;
  /** Unix seconds, like the next two fields. */
  period_start?: number | null;
  period_end?: number | null;
  next_payment_attempt?: number | null;
  paymentCurrency: PaymentCurrency;
  paymentMethod: PaymentMethod | null;
  metadata?: { payment_details?: PaymentDetails } & Record<string, unknown>;
  livemode: boolean;
}

export interface InvoiceDetail extends Invoice {
  customer: Customer | null;
  lines: InvoiceLine[];
  /** Oldest first. */
  payments?: InvoicePayment[];
  /** Newest first. */
  credit_notes?: CreditNote[];
  /** For administrators only. */
  disputes?: Dispute[];
  paymentIntent?: { id: string; amount_received: string; amount_refunded: string } | null;
  checkoutSession?: { id: string } | null;
  customer_name?: string | null;
  customer_email?: string | null;
  customer_phone?: string | null;
  customer_address?: Address | null;
  paid_at?: string | null;
  status_transitions?: { paid_at?: string | number | null; finalized_at?: string | number | null };
  invoice_pdf?: string | null;
}

export interface PaymentIntent extends Described {
  id: string;
  status: string;
  amount: string;
  amount_received?: string;
  created_at: string;
  invoice_id?: string | null;
  /** The current status of the invoice; another payment may have paid it. */
  invoice_status?: string | null;
  last_payment_error?: { code?: string; message?: string } | null;
  paymentCurrency: PaymentCurrency;
  paymentMethod: PaymentMethod | null;
  payment_details?: PaymentDetails | null;
  checkoutSession?: { id: string } | null;
}

/** Start and end, in Unix seconds. */
export type Span = Schemas['Period'];

export interface Recurring {
  interval: 'hour' | 'day' | 'week' | 'month' | 'year';
  interval_count: number;
  usage_type?: 'licensed' | 'metered';
}

export interface Price {
  id: string;
  type: 'one_time' | 'recurring';
  currency_id: string;
  /** In base units; null if the price has tiers or the customer chooses the amount. */
  unit_amount: string | null;
  billing_scheme?: 'per_unit' | 'tiered';
  recurring?: Recurring | null;
  currency_options?: { currency_id: string; unit_amount: string | null; tiers?: unknown[] | null }[];
  product?: {
    id?: string;
    name: string;
    name_zh?: string | null;
    description?: string | null;
    description_zh?: string | null;
    images?: string[];
    unit_label?: string | null;
    unit_label_zh?: string | null;
    metadata?: Record<string, string>;
  };
}

export type SubscriptionStatus = 'trialing' | 'active' | 'past_due' | 'paused' | 'canceled';

export type StakeStatus = 'held' | 'waiting' | 'returning' | 'returned' | 'slashing' | 'slashed' | 'revoked';

export type StakePurpose = 'security' | 'overdraft' | 'membership' | 'publication';

/** A refundable deposit held by a network; amounts in base units of its currency, times in Unix seconds. */
export interface Stake {
  id: string;
  purpose: StakePurpose;
  status: 'pending' | 'held' | 'releasing' | 'final';
  release_reason?:
    | 'ended'
    | 'superseded'
    | 'revoked'
    | 'abandoned'
    | 'requested'
    | 'returned_by_store'
    | 'forfeited'
    | null;
  customer_id: string;
  customer: Schemas['CustomerReference'] | null;
  payer: string;
  subscription_id?: string | null;
  /** The user who is a developer by the deposit. */
  developer_did?: string | null;
  /** The app that may be published by the deposit. */
  app_did?: string | null;
  amount: string;
  amount_forfeited: string;
  amount_returned: string;
  amount_remaining: string;
  amount_moving: string;
  amount_missing: string;
  waiting_days: number;
  return_at?: number | null;
  failure_count?: number | null;
  failure?: { code: string; message: string } | null;
  needs_attention?: boolean | null;
  tx_hash?: string | null;
  paymentCurrency?: PaymentCurrency | null;
  created_at: string;
}

/** The overdraft protection of a subscription; amounts in base units of its currency. */
export interface OverdraftProtection {
  enabled: boolean;
  /** The deposit covers the next renewal. */
  sufficient: boolean;
  /** The cost of one cycle and the fee. */
  required: string;
  fee: string;
  available: string;
  currency_id: string;
}

/** Whether the clock of the store is trusted. */
export interface Clock {
  trusted: boolean;
  source: 'uptime' | 'database' | 'network' | 'mark' | null;
  ahead_seconds: number | null;
  host: string | null;
}

/** Whether the store has enough disk space. The other fields are null if it has. */
export type Disk = ServerObject<'Disk'>;

/** Whether the store was restored from a backup; times are ISO texts. */
export type Restore = ServerObject<'Restore'>;

/** A payment that a restored store has found at a network and that belongs to nothing it knows. */
export type FoundPayment = Narrow<ServerObject<'FoundPayment'>, { currency: PaymentCurrency }>;

/** A payment whose network moved an amount that differs from the requested one; amounts in base units of `paymentCurrency`. */
export type PaymentOnHold = Narrow<
  Pick<
    ServerObject<'PaymentOnHold'>,
    | 'id'
    | 'amount'
    | 'amount_received'
    | 'amount_refunded'
    | 'customer_id'
    | 'customer'
    | 'payment_method_id'
    | 'invoices'
    | 'payment_details'
    | 'paymentCurrency'
    | 'paymentMethod'
    | 'held_at'
  >,
  { payment_details: PaymentDetails; paymentCurrency: PaymentCurrency; paymentMethod: PaymentMethod | null }
>;

/** What became of the money of a payment on hold. */
export type PaymentResolution = Pick<ServerObject<'PaymentResolution'>, 'amount' | 'invoice_ids'> & {
  balance_transaction?: { amount: string } | null;
  refund?: { id: string } | null;
};

/** What the store decides about a transfer on hold. */
export type HoldDecision = 'record' | 'retry' | 'balance' | 'revenue' | 'return';

/** A refund, a payout or a transfer of a deposit whose network moved a different amount than ordered; amounts in base units. */
export type TransferOnHold = Narrow<
  Pick<
    ServerObject<'TransferOnHold'>,
    | 'id'
    | 'type'
    | 'amount'
    | 'amount_moved'
    | 'customer_id'
    | 'customer'
    | 'payment_method_id'
    | 'invoice_id'
    | 'subscription_id'
    | 'decisions'
    | 'payment_details'
    | 'paymentCurrency'
    | 'paymentMethod'
    | 'held_at'
  >,
  {
    type: 'refund' | 'balance_payout' | 'stake' | 'stake_return' | 'stake_forfeit' | 'mandate' | 'recharge';
    decisions: HoldDecision[];
    payment_details: PaymentDetails;
    paymentCurrency: PaymentCurrency;
    paymentMethod: PaymentMethod | null;
  }
>;

/** What became of a transfer on hold. */
export type TransferResolution = Pick<
  ServerObject<'TransferResolution'>,
  'amount_moved' | 'amount_rest' | 'amount_excess'
>;

/** Why billing of a subscription is on hold. */
export type HoldReason =
  | 'price_missing'
  | 'product_missing'
  | 'customer_missing'
  | 'currency_not_configured'
  | 'not_recurring'
  | 'amount_out_of_range'
  | 'already_billed'
  | 'unreadable'
  | 'unbilled_periods'
  | 'invoice_limit'
  | 'charge_limit'
  | 'payment_method'
  | 'other';

export type SubscriptionItem = Narrow<Schemas['SubscriptionItem'], { price: Price }>;

/** Times are Unix seconds, amounts are base units of `paymentCurrency`. */
export type Subscription = Narrow<
  Pick<
    ServerObject<'Subscription'>,
    | 'id'
    | 'livemode'
    | 'status'
    | 'description'
    | 'title'
    | 'customer_id'
    | 'customer'
    | 'currency_id'
    | 'default_payment_method_id'
    | 'pending_plan_change'
    | 'start_date'
    | 'billing_cycle_anchor'
    | 'current_period_start'
    | 'current_period_end'
    | 'trial_start'
    | 'trial_end'
    | 'cancel_at_period_end'
    | 'cancel_at'
    | 'canceled_at'
    | 'ended_at'
    | 'cancelation_details'
    | 'past_due_since'
    | 'paused_at'
    | 'on_hold'
    | 'on_hold_reason'
    | 'on_hold_until'
    | 'unbilled_periods'
    | 'next_period_start'
    | 'items'
    | 'staking'
    | 'overdraft_stake_id'
    | 'mandate'
    | 'next_invoice'
    | 'paymentCurrency'
    | 'paymentMethod'
    | 'test_clock'
  >,
  {
    status: SubscriptionStatus;
    description: string | null;
    title: Text;
    cancelation_details: ServerObject<'CancellationDetails'> | null;
    pending_plan_change?: ServerObject<'PendingPlanChange'> | null;
    on_hold_reason: HoldReason | null;
    items: SubscriptionItem[];
    staking: Narrow<ServerObject<'SubscriptionStake'>, { status: StakeStatus }> | null;
    mandate: Narrow<ServerObject<'SubscriptionMandate'>, { type: 'delegation' | 'card' }> | null;
    paymentCurrency: PaymentCurrency;
    paymentMethod: PaymentMethod;
  }
>;

export type ProrationLine = Narrow<
  Pick<
    Schemas['PlanPreviewLine'],
    'description' | 'description_code' | 'description_params' | 'amount' | 'kind' | 'formula'
  >,
  Required<Pick<Described, 'description_params'>> & { kind: 'credit' | 'charge'; formula: PricingFormula }
>;

/** The account that pays for a subscription; amounts are base units of its currency. */
export type PayingBalance = ServerObject<'PayingBalance'>;

/** Cost preview of a plan change. `proration_date` and `total` are sent back with the confirmation. */
export type PlanPreview = Narrow<ServerObject<'PlanPreview'>, { lines: ProrationLine[] }>;

/** Parameters of the card processor's form. Only the browser uses the secret. */
export interface StripeContext {
  client_secret: string;
  intent_type: 'payment_intent' | 'setup_intent';
  status: string;
}

export type PaymentChange = Narrow<
  ServerObject<'PaymentChangeRequest'>,
  {
    stripeContext: StripeContext | null;
    connect: { action: string; extraParams: Schemas['ConnectParams'] } | null;
  }
>;

export interface Settings {
  paymentMethods: PaymentMethod[];
}

export type Overdue = Narrow<
  Schemas['Overdue'],
  {
    /** By currency id. */
    summary: Record<string, { amount: string; currency: PaymentCurrency; method: PaymentMethod }>;
    invoices: Invoice[];
    subscription?: InvoiceSubscription | null;
    customer?: { id: string } | null;
  }
>;

export type Refund = Narrow<
  Pick<
    ServerObject<'Refund'>,
    | 'id'
    | 'type'
    | 'status'
    | 'amount'
    | 'payment_intent_id'
    | 'credit_note_id'
    | 'invoice_id'
    | 'subscription_id'
    | 'currency_id'
    | 'payment_method_id'
    | 'reason'
    | 'description'
    | 'failure'
    | 'created_at'
  >,
  {
    type: 'refund' | 'stake_return' | 'balance_payout' | 'dashboard_refund';
    /** `canceled`: the refund failed, and its amount was added to the customer's balance. */
    status: 'pending' | 'succeeded' | 'failed' | 'canceled';
    payment_intent_id?: string | null;
    credit_note_id?: string | null;
    payment_method_id?: string;
    reason: string | null;
    description: string | null;
    failure?: { code: string; message: string } | null;
  }
>;

export type RefundPreview = ServerObject<'RefundPreview'>;

/** Times are Unix seconds; `target` is the time that a running advance moves to. */
export type TestClock = Narrow<
  Pick<
    ServerObject<'TestClock'>,
    'id' | 'name' | 'customer_id' | 'customer' | 'now' | 'status' | 'target' | 'timeline' | 'created_at'
  >,
  { status: 'ready' | 'advancing' }
>;
