import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { Entitlement, Invoice, InvoiceDetail, Page, PaymentIntent } from '@/api/types';

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

const invoicePage = (page: number, pageSize: number) =>
  api.get<Page<Invoice>>('/api/invoices', { page, pageSize, status: SHOWN_STATUSES, ignore_zero: true });

export const invoicesQuery = (page: number, pageSize: number) =>
  queryOptions({
    queryKey: ['invoices', 'page', page, pageSize],
    queryFn: () => invoicePage(page, pageSize),
    placeholderData: keepPreviousData,
  });

/** How many pages of this length are not yet shown. */
const nextPage = (last: Page<unknown>, pages: Page<unknown>[], length: number) =>
  pages.length * length < last.count ? pages.length + 1 : undefined;

export const invoiceFeedQuery = infiniteQueryOptions({
  queryKey: ['invoices', 'feed'],
  queryFn: ({ pageParam }) => invoicePage(pageParam, PAGE_SIZE_ON_PHONES),
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
