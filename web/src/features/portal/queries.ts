import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type {
  Customer,
  Entitlement,
  Invoice,
  InvoiceDetail,
  InvoiceSubscription,
  Overdue,
  Page,
  PaymentIntent,
  PlanPreview,
  Price,
  Refund,
  RefundPreview,
  Settings,
  Subscription,
  SubscriptionFunds,
} from '@/api/types';

/** SPEC.md 9: what a table of invoices can show at once, and what it begins with. */
export const PAGE_SIZES = [5, 10, 20, 50, 100];
export const PAGE_SIZE = 10;
export const PAGE_SIZE_ON_PHONES = 5;

/** Drafts are not shown to customers; all else is, void ones struck through. */
const SHOWN_STATUSES = 'open,paid,uncollectible,void';

export const entitlementsQuery = queryOptions({
  queryKey: ['entitlements'],
  queryFn: () => api.get<Page<Entitlement>>('/api/entitlements'),
});

/** All invoices of the customer, or those of one subscription with its stakes. */
export interface InvoiceScope {
  subscriptionId?: string;
  /** Whose they are, where they may be somebody else's. */
  customerId?: string;
}

export type InvoicePage = Page<Invoice> & { subscription?: InvoiceSubscription | null };

const invoicePage = (page: number, pageSize: number, { subscriptionId, customerId }: InvoiceScope) =>
  api.get<InvoicePage>('/api/invoices', {
    page,
    pageSize,
    status: SHOWN_STATUSES,
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

/** How many pages of this length are not yet shown. */
const nextPage = (last: Page<unknown>, pages: Page<unknown>[], length: number) =>
  pages.length * length < last.count ? pages.length + 1 : undefined;

export const invoiceFeedQuery = (scope: InvoiceScope = {}) =>
  infiniteQueryOptions({
    queryKey: ['invoices', 'feed', scope],
    queryFn: ({ pageParam }) => invoicePage(pageParam, PAGE_SIZE_ON_PHONES, scope),
    initialPageParam: 1,
    getNextPageParam: (last, pages) => nextPage(last, pages, PAGE_SIZE_ON_PHONES),
  });

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

/** The most that one call answers; a customer with more is shown the newest. */
const SUBSCRIPTIONS_AT_ONCE = 100;

const segment = encodeURIComponent;

export const subscriptionsQuery = queryOptions({
  queryKey: ['subscriptions', 'list'],
  queryFn: () => api.get<Page<Subscription>>('/api/subscriptions', { page: 1, pageSize: SUBSCRIPTIONS_AT_ONCE }),
});

export const subscriptionQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'detail', id],
    queryFn: () => api.get<Subscription>(`/api/subscriptions/${segment(id)}`),
  });

/** What stands unpaid for one subscription, or for the whole account (by customer id or DID). */
export const overdueQuery = (of: { subscriptionId: string } | { customerId: string }) =>
  queryOptions({
    queryKey: ['overdue', of],
    queryFn: () =>
      api.get<Overdue>(
        'subscriptionId' in of
          ? `/api/subscriptions/${segment(of.subscriptionId)}/overdue/invoices`
          : `/api/customers/${segment(of.customerId)}/overdue/invoices`,
      ),
  });

export const recoverQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'recover', id],
    queryFn: () =>
      api.get<{ subscription: Subscription; needStake: boolean }>(`/api/subscriptions/${segment(id)}/recover-info`),
    staleTime: 0,
  });

/** Its network answers when it likes: what is waited for after a payment waits for no funds. */
export const FUNDS_KEY = 'funds';

/** The account that pays, as its network tells now, in the currency that the subscription is shown in. */
export const fundsQuery = ({ id, currency_id: currencyId }: Pick<Subscription, 'id' | 'currency_id'>) =>
  queryOptions({
    queryKey: [FUNDS_KEY, id, currencyId],
    queryFn: async ({ client }) => {
      const funds = await api.get<SubscriptionFunds>(`/api/subscriptions/${segment(id)}/funds`);
      if (funds.currency_id === currencyId) return funds;
      // What is shown is older than the change to another currency: its decimals would be wrong for these amounts.
      void client.invalidateQueries({ queryKey: subscriptionQuery(id).queryKey });
      throw new Error('the funds are in another currency');
    },
    retry: false,
  });

export const plansQuery = (id: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'plans', id],
    queryFn: () => api.get<{ plans: Price[] }>(`/api/subscriptions/${segment(id)}/change-plan`),
    staleTime: 0,
  });

/** What a change to this price comes to at this moment; asked anew each time it is shown. */
export const planPreviewQuery = (id: string, priceId: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'preview', id, priceId],
    queryFn: () =>
      api.post<PlanPreview>(`/api/subscriptions/${segment(id)}/change-plan/preview`, { price_id: priceId }),
    staleTime: 0,
    gcTime: 0,
  });

/** The methods of a mode: a subscription keeps to its own, whatever the browser is in. */
export const settingsQuery = (livemode: boolean) =>
  queryOptions({
    queryKey: ['settings', livemode],
    queryFn: () => api.get<Settings>('/api/settings', { livemode }),
  });

/** Who is signed in, as a customer; without an id before they have bought anything. */
export const meQuery = queryOptions({
  queryKey: ['customer', 'id'],
  queryFn: () => api.get<Customer>('/api/customers/me', { skipSummary: 1, fallback: 1 }),
});

export const refundsQuery = (invoiceId: string) =>
  queryOptions({
    queryKey: ['refunds', invoiceId],
    queryFn: () => api.get<Page<Refund>>('/api/refunds', { invoice_id: invoiceId, page: 1, pageSize: 20 }),
  });

/** What of an invoice can be given back now, for those who run the store. */
export const refundPreviewQuery = (invoiceId: string) =>
  queryOptions({
    queryKey: ['refunds', invoiceId, 'preview'],
    queryFn: () => api.get<RefundPreview>('/api/refunds/preview', { invoice_id: invoiceId }),
    // Other bills of the same customer alter it.
    staleTime: 0,
  });

/** What a payment or a change of a subscription may have altered. */
export const BILLING_KEYS = ['subscriptions', 'invoices', 'overdue', 'payments', 'refunds'];
