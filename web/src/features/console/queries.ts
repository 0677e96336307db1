import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, type Query } from '@/api/client';
import type {
  Clock,
  CreditNote,
  Customer,
  Disk,
  Dispute,
  Examination,
  FoundPayment,
  Invoice,
  Page,
  PaymentMethod,
  PaymentMethodCheck,
  PaymentOnHold,
  Restore,
  Stake,
  Subscription,
  TestClock,
  TransferOnHold,
} from '@/api/types';
import { loadErrorMessages } from '@/i18n/translate';

/** How often the page loads a clock that is advancing. */
const POLL_MS = 1000;
const MAX_PAGE_SIZE = 100;
/** How often a page of the console asks whether the clock is trusted and whether disk space is left. */
const HEALTH_POLL_MS = 60_000;
/** How often it asks about a restored store that is on hold: it may continue at any moment. */
const RESTORE_POLL_MS = 5000;

/** Whether the clock of the store is trusted. */
export const storeClockQuery = queryOptions({
  queryKey: ['clock'],
  queryFn: () => api.get<Clock>('/api/clock'),
  refetchInterval: HEALTH_POLL_MS,
});

/** Whether the store has enough disk space. */
export const diskQuery = queryOptions({
  queryKey: ['disk'],
  queryFn: () => api.get<Disk>('/api/disk'),
  refetchInterval: HEALTH_POLL_MS,
});

/** Whether the store was restored from a backup and is on hold. */
export const restoreQuery = queryOptions({
  queryKey: ['restore'],
  queryFn: () => api.get<Restore>('/api/restore'),
  refetchInterval: ({ state }) => (state.data?.held ? RESTORE_POLL_MS : HEALTH_POLL_MS),
});

/** Payments that belong to nothing that a restored store knows. */
export const foundPaymentsQuery = queryOptions({
  queryKey: ['found-payments'],
  queryFn: () => api.get<Page<FoundPayment>>('/api/restore/found-payments'),
});

export const clocksQuery = queryOptions({
  queryKey: ['test-clocks', 'list'],
  queryFn: () => api.get<Page<TestClock>>('/api/test-clocks', { page: 1, pageSize: MAX_PAGE_SIZE }),
});

export const clockQuery = (id: string) =>
  queryOptions({
    queryKey: ['test-clocks', 'detail', id],
    queryFn: () => api.get<TestClock>(`/api/test-clocks/${encodeURIComponent(id)}`),
    refetchInterval: ({ state }) => (state.data?.status === 'advancing' ? POLL_MS : false),
  });

export const customerSubscriptionsQuery = (customerId: string) =>
  queryOptions({
    queryKey: ['subscriptions', 'customer', customerId],
    queryFn: () =>
      api.get<Page<Subscription>>('/api/subscriptions', { customer_id: customerId, page: 1, pageSize: MAX_PAGE_SIZE }),
  });

/** The newest invoices of a customer. */
export const customerInvoicesQuery = (customerId: string) =>
  queryOptions({
    queryKey: ['invoices', 'customer', customerId],
    queryFn: () =>
      api.get<Page<Invoice>>('/api/invoices', { customer_id: customerId, page: 1, pageSize: MAX_PAGE_SIZE }),
  });

/** A customer by id or DID, for administrators. */
export const customerPageQuery = (id: string) =>
  queryOptions({
    queryKey: ['customers', id],
    queryFn: () => api.get<Customer>(`/api/customers/${encodeURIComponent(id)}`),
  });

/** The page size of the store's lists. */
export const CONSOLE_PAGE_SIZE = 20;

/** One page of a list of the store. `key` is the first part of the query key. */
export const consoleListQuery = <T>(key: string, path: string, page: number, filter: Query) =>
  queryOptions({
    queryKey: [key, 'list', page, filter],
    queryFn: () => api.get<Page<T>>(path, { ...filter, page, pageSize: CONSOLE_PAGE_SIZE }),
    placeholderData: keepPreviousData,
  });

export const creditNotesQuery = (page: number) =>
  consoleListQuery<CreditNote>('credit-notes', '/api/credit-notes', page, {});

/** The subscriptions whose billing is on hold. */
export const onHoldQuery = (page: number) =>
  consoleListQuery<Subscription>('subscriptions', '/api/subscriptions', page, { customer_id: 'all', on_hold: true });

/** Payments whose network moved an amount that differs from the requested one. */
export const paymentsOnHoldQuery = (page: number) =>
  consoleListQuery<PaymentOnHold>('payments-on-hold', '/api/payment-intents/on-hold', page, {});

/** Refunds, payouts and transfers of deposits whose network moved a different amount than ordered. */
export const transfersOnHoldQuery = (page: number) =>
  consoleListQuery<TransferOnHold>('transfers-on-hold', '/api/transfers/on-hold', page, {});

/** All disputes, or those that are not decided. */
export const disputesQuery = (page: number, open: boolean) =>
  consoleListQuery<Dispute>('disputes', '/api/disputes', page, { open: open || undefined });

/** All deposits, or those whose transfers keep failing. */
export const stakesQuery = (page: number, attention: boolean) =>
  consoleListQuery<Stake>('stakes', '/api/stakes', page, { needs_attention: attention || undefined });

export const methodsQuery = queryOptions({
  queryKey: ['payment-methods', 'list'],
  queryFn: () => api.get<PaymentMethod[]>('/api/payment-methods'),
});

export const methodQuery = (id: string) =>
  queryOptions({
    queryKey: ['payment-methods', 'detail', id],
    queryFn: () => api.get<PaymentMethod>(`/api/payment-methods/${encodeURIComponent(id)}`),
  });

/** Asks the method's network, so it can take some seconds. */
export const methodCheckQuery = (id: string) =>
  queryOptions({
    queryKey: ['payment-methods', 'check', id],
    queryFn: async () => {
      const check = await api.get<PaymentMethodCheck>(`/api/payment-methods/${encodeURIComponent(id)}/check`);
      // The problem arrives in a successful response, so the API client does not load the messages.
      if (check.problem) await loadErrorMessages();
      return check;
    },
    staleTime: 0,
  });

/** Examines the installation. It asks the networks, so it can take some seconds. */
export const examinationQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: () => api.get<Examination>('/api/doctor'),
  staleTime: 0,
});
