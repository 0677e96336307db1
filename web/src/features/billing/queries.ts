import { infiniteQueryOptions, keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type {
  BalanceTransaction,
  Customer,
  CustomerBalance,
  Entitlement,
  Invoice,
  InvoiceDetail,
  InvoiceSubscription,
  OverdraftProtection,
  Overdue,
  Page,
  PayingBalance,
  PaymentIntent,
  PlanPreview,
  Price,
  Refund,
  RefundPreview,
  Settings,
  Subscription,
} from '@/api/types';
import { isPhone } from '@/lib/use-phone';

/** SPEC.md 9: the page sizes of a table of invoices, and the first one. */
export const PAGE_SIZES = [5, 10, 20, 50, 100];
export const PAGE_SIZE = 10;
export const PAGE_SIZE_ON_PHONES = 5;

/** The maximum page size; customers with more entries see the newest ones. */
const MAX_PAGE_SIZE = 100;

/** Customers see no drafts; void invoices are struck through. */
const VISIBLE_STATUSES = 'open,paid,uncollectible,void';

export const entitlementsQuery = queryOptions({
  queryKey: ['entitlements'],
  queryFn: () => api.get<Page<Entitlement>>('/api/entitlements', { page: 1, pageSize: MAX_PAGE_SIZE }),
});

/** All invoices of the customer, or those of one subscription with its stakes. */
export interface InvoiceScope {
  subscriptionId?: string;
  /** The customer, if an administrator reads the invoices. */
  customerId?: string;
}

export type InvoicePage = Page<Invoice> & { subscription?: InvoiceSubscription | null };

const invoicePage = (page: number, pageSize: number, { subscriptionId, customerId }: InvoiceScope) =>
  api.get<InvoicePage>('/api/invoices', {
    page,
    pageSize,
    status: VISIBLE_STATUSES,
    ignore_zero: true,
    customer_id: customerId,
    ...(subscriptionId && {
      subscription_id: subscriptionId,
      include_staking: true,
      include_return_staking: true,
    }),
  });

export const invoicesQuery = (page: number, pageSize: number, scope: InvoiceScope = {}) =>
  queryOptions({
    queryKey: ['invoices', 'page', scope, page, pageSize],
    queryFn: () => invoicePage(page, pageSize, scope),
    placeholderData: keepPreviousData,
  });

/** The number of the next page of this length, if there is one. */
const nextPage = (last: Page<unknown>, pages: Page<unknown>[], length: number) =>
  pages.length * length < last.count ? pages.length + 1 : undefined;

export const invoiceFeedQuery = (scope: InvoiceScope = {}) =>
  infiniteQueryOptions({
    queryKey: ['invoices', 'feed', scope],
    queryFn: ({ pageParam }) => invoicePage(pageParam, PAGE_SIZE_ON_PHONES, scope),
    initialPageParam: 1,
    getNextPageParam: (last, pages) => nextPage(last, pages, PAGE_SIZE_ON_PHONES),
  });

/** Loads the first invoices for the width of the page: a page of the table, or the beginning of the list. */
export const prefetchInvoices = (
  client: QueryClient,
  scope: InvoiceScope,
  page = 1,
  pageSize = PAGE_SIZE,
): Promise<void> =>
  isPhone()
    ? client.prefetchInfiniteQuery(invoiceFeedQuery(scope))
    : client.prefetchQuery(invoicesQuery(page, pageSize, scope));

export const paymentsQuery = infiniteQueryOptions({
  queryKey: ['payments'],
  queryFn: ({ pageParam }) =>
    api.get<Page<PaymentIntent>>('/api/payment-intents', { page: pageParam, pageSize: PAGE_SIZE }),
  initialPageParam: 1,
  getNextPageParam: (last, pages) => nextPage(last, pages, PAGE_SIZE),
});

export const invoiceQuery = (id: string) =>
  queryOptions({
    queryKey: ['invoices', 'detail', id],
    queryFn: () => api.get<InvoiceDetail>(`/api/invoices/${encodeURIComponent(id)}`),
  });

const segment = encodeURIComponent;

export const subscriptionsQuery = queryOptions({
  queryKey: ['subscriptions', 'list'],
  queryFn: () => api.get<Page<Subscription>>('/api/subscriptions', { page: 1, pageSize: MAX_PAGE_SIZE }),
});

export const subscriptionQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'detail', id],
    queryFn: () => api.get<Subscription>(`/api/subscriptions/${segment(id)}`),
  });

/** Loads a subscription and its first invoices. */
export async function loadSubscriptionPage(client: QueryClient, id: string, page?: number, pageSize?: number) {
  const subscription = await client.ensureQueryData(subscriptionQuery(id)).catch(() => null);
  if (!subscription) return;
  await prefetchInvoices(client, { subscriptionId: id, customerId: subscription.customer_id }, page, pageSize);
}

/** The overdue invoices of one subscription, or of the whole account (by customer id or DID). */
export const overdueQuery = (of: { subscriptionId: string } | { customerId: string }) =>
  queryOptions({
    queryKey: ['overdue', of],
    queryFn: () =>
      'subscriptionId' in of
        ? api.get<Overdue>(`/api/subscriptions/${segment(of.subscriptionId)}/overdue/invoices`)
        : overdueOfCustomer(of.customerId),
  });

/** A signed-in user who has never ordered anything is not a customer yet and has no overdue invoices. */
async function overdueOfCustomer(id: string): Promise<Overdue> {
  try {
    return await api.get<Overdue>(`/api/customers/${segment(id)}/overdue/invoices`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { summary: {}, invoices: [] };
    throw error;
  }
}

export const recoverQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'recover', id],
    queryFn: () =>
      api.get<{ subscription: Subscription; needStake: boolean }>(`/api/subscriptions/${segment(id)}/recover-info`),
    staleTime: 0,
  });

/** A key of its own: the network can be slow, and a payment does not wait for this query. */
export const BALANCE_KEY = 'balance';

/** The balance of the paying account, from its network, in the currency that the subscription is shown in. */
export const balanceQuery = ({ id, currency_id: currencyId }: Pick<Subscription, 'id' | 'currency_id'>) =>
  queryOptions({
    queryKey: [BALANCE_KEY, id, currencyId],
    queryFn: async ({ client }) => {
      const balance = await api.get<PayingBalance>(`/api/subscriptions/${segment(id)}/paying-balance`);
      if (balance.currency_id === currencyId) return balance;
      // The page shows a state from before a change of currency: these amounts have other decimals.
      void client.invalidateQueries({ queryKey: subscriptionQuery(id).queryKey });
      throw new Error('the balance is in another currency');
    },
    retry: false,
  });

export const plansQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'plans', id],
    queryFn: () => api.get<{ plans: Price[] }>(`/api/subscriptions/${segment(id)}/change-plan`),
    staleTime: 0,
  });

/** The cost of a change to this price at this moment; loaded again each time it is shown. */
export const planPreviewQuery = (id: string, priceId: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'preview', id, priceId],
    queryFn: () =>
      api.post<PlanPreview>(`/api/subscriptions/${segment(id)}/change-plan/preview`, { price_id: priceId }),
    staleTime: 0,
    gcTime: 0,
  });

/** The payment methods of a mode: a subscription keeps its own mode, whatever the browser is in. */
export const settingsQuery = (livemode: boolean) =>
  queryOptions({
    queryKey: ['settings', livemode],
    queryFn: () => api.get<Settings>('/api/settings', { livemode }),
  });

/** The signed-in user as a customer, with name, email, phone and address; without an id before the first purchase. */
export const customerQuery = queryOptions({
  queryKey: ['customer'],
  queryFn: () => api.get<Customer>('/api/customers/me', { skipSummary: 1, fallback: 1 }),
});

export const refundsQuery = (invoiceId: string) =>
  queryOptions({
    queryKey: ['refunds', invoiceId],
    queryFn: () => api.get<Page<Refund>>('/api/refunds', { invoice_id: invoiceId, page: 1, pageSize: 20 }),
  });

/** The overdraft protection of a subscription. */
export const overdraftQuery = (id: string) =>
  queryOptions({
    queryKey: ['stakes', 'overdraft', id],
    queryFn: () => api.get<OverdraftProtection>(`/api/subscriptions/${segment(id)}/overdraft-protection`),
    retry: false,
  });

/** Whose balance with the store: the signed-in customer's own, or, for administrators, of a customer by id. */
export type BalanceOwner = 'me' | { customerId: string };

const ownerPath = (owner: BalanceOwner) => (owner === 'me' ? 'me' : segment(owner.customerId));

/** The balances with the store that are above zero, one per currency. */
export const customerBalanceQuery = (owner: BalanceOwner) =>
  queryOptions({
    queryKey: ['customer-balance', owner],
    queryFn: () => api.get<Page<CustomerBalance>>(`/api/customers/${ownerPath(owner)}/balance`),
  });

export const balanceTransactionsQuery = (owner: BalanceOwner) =>
  infiniteQueryOptions({
    queryKey: ['customer-balance', owner, 'transactions'],
    queryFn: ({ pageParam }) =>
      api.get<Page<BalanceTransaction>>(`/api/customers/${ownerPath(owner)}/balance-transactions`, {
        page: pageParam,
        pageSize: PAGE_SIZE,
      }),
    initialPageParam: 1,
    getNextPageParam: (last, pages) => nextPage(last, pages, PAGE_SIZE),
  });

/** How much of an invoice can be refunded now; for administrators. */
export const refundPreviewQuery = (invoiceId: string) =>
  queryOptions({
    queryKey: ['refunds', invoiceId, 'preview'],
    queryFn: () => api.get<RefundPreview>('/api/refunds/preview', { invoice_id: invoiceId }),
    // Other invoices of the same customer change it.
    staleTime: 0,
  });

/** The queries that a payment or a change of a subscription may affect. */
export const BILLING_KEYS = [
  'subscriptions',
  'invoices',
  'overdue',
  'payments',
  'payments-on-hold',
  'transfers-on-hold',
  'refunds',
  'credit-notes',
  'customer-balance',
  'stakes',
  'entitlements',
];
