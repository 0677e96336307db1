import { api } from '@/api/client';
import type { Page, Payee, SharePayout } from '@/api/types';
import { queryClient } from '@/app/queries';
import { parseDecimal } from '@/lib/amount';
import { CONSOLE_PAGE_SIZE, consoleListQuery } from './queries';

/** The longest reason that the server accepts. */
export const REASON_MAX = 500;

const PATH = '/api/console/payables';
const KEY = 'payables';
const PAYOUTS_KEY = 'share-payouts';

/** Rows of tables need an id. */
export type PayeeRow = Payee & { id: string };

export const payeeRow = (payee: Payee): PayeeRow => ({ ...payee, id: `${payee.beneficiary} ${payee.currency_id}` });

/** The beneficiaries of sales with what is payable to them. */
export const payablesQuery = (page: number) => ({
  ...consoleListQuery<PayeeRow>(KEY, PATH, page, {}),
  queryFn: async (): Promise<Page<PayeeRow>> => {
    const { count, list } = await api.get<Page<Payee>>(PATH, { page, pageSize: CONSOLE_PAGE_SIZE });
    return { count, list: list.map(payeeRow) };
  },
});

/** The recorded payouts to beneficiaries, newest first. */
export const payoutsQuery = (page: number) =>
  consoleListQuery<SharePayout>(PAYOUTS_KEY, '/api/console/payouts', page, {});

export interface PayoutInput {
  /** Typed, in human units. */
  amount: string;
  reason: string;
}

/** The body of a payout: the amount in base units, and what was recorded before as the owner sees it. */
export const payoutBody = ({ currency, recorded }: Payee, { amount, reason }: PayoutInput) => ({
  amount: parseDecimal(amount, currency?.decimal ?? 0) ?? '',
  paid_before: recorded,
  reason: reason.trim(),
});

export function recordPayout({ beneficiary, currency_id }: Payee, body: object, idempotencyKey: string) {
  const path = `${PATH}/${encodeURIComponent(beneficiary)}/${encodeURIComponent(currency_id)}/payouts`;
  return api.post<Payee>(path, body, { idempotencyKey });
}

/** Takes back a payout that was recorded by mistake. */
export const reversePayout = (id: string, reason: string) =>
  api.post<SharePayout>(`/api/console/payouts/${encodeURIComponent(id)}/reverse`, { reason: reason.trim() });

/** Loads the payables and payouts again. */
export const reloadPayables = (): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey: [key] }) => key === KEY || key === PAYOUTS_KEY });
