import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { AppPricing, AppPricingInput, Earnings, Page, SharePayout } from '@/api/types';
import { REVIEW_PAGE_SIZE } from '@/features/reviews/queries';
import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

/** The most beneficiaries of a price; the server has the same limit. */
export const SHARES_MAX = 20;
/** The decimals of a percentage, whose unit is a millionth of the price. */
const PERCENT_DECIMALS = 4;
const WHOLE = 1_000_000n;

const pricePath = (did: string) => `/api/developer/apps/${encodeURIComponent(did)}/price`;

/** How an app of the signed-in developer is sold. */
export const pricingQuery = (did: string) =>
  queryOptions({
    queryKey: ['reviews', 'pricing', did],
    queryFn: () => api.get<AppPricing>(pricePath(did)),
    staleTime: 0,
  });

export const setPrice = (did: string, input: AppPricingInput) => api.put<AppPricing>(pricePath(did), input);

/** Withdraws the proposed price. */
export const withdrawPrice = (did: string) => api.delete<AppPricing>(`${pricePath(did)}/proposal`);

/** What the sales of apps have brought to the signed-in user. */
export const earningsQuery = (page: number) =>
  queryOptions({
    queryKey: ['earnings', 'apps', page],
    queryFn: () => api.get<Earnings>('/api/developer/earnings', { page, pageSize: REVIEW_PAGE_SIZE }),
    placeholderData: keepPreviousData,
  });

/** The payouts to the signed-in user, newest first. */
export const ownPayoutsQuery = (page: number) =>
  queryOptions({
    queryKey: ['earnings', 'payouts', page],
    queryFn: () => api.get<Page<SharePayout>>('/api/developer/payouts', { page, pageSize: REVIEW_PAGE_SIZE }),
    placeholderData: keepPreviousData,
  });

export interface ShareInput {
  beneficiary?: string;
  percent?: string;
}

/** A typed percentage in millionths; null if it is none above zero. */
export function millionths(percent: string | undefined): bigint | null {
  const units = parseDecimal(percent ?? '', PERCENT_DECIMALS);
  return units === null || units === '0' ? null : toUnits(units);
}

export const percentText = (share: bigint): string => formatAmount(share.toString(), PERCENT_DECIMALS);

/** The most that the beneficiaries get together: what the store's commission leaves. */
export const sharesMost = (commissionPercent: string): bigint =>
  WHOLE - toUnits(parseDecimal(commissionPercent, PERCENT_DECIMALS));

/** What the valid ones of the typed shares add up to. */
export const sharesSum = (shares: readonly (ShareInput | undefined)[]): bigint =>
  shares.reduce((sum, share) => sum + (millionths(share?.percent) ?? 0n), 0n);

/** What stays with the store of a price with these shares; nothing below zero. */
export function storePercent(shares: readonly (ShareInput | undefined)[]): string {
  const rest = WHOLE - sharesSum(shares);
  return percentText(rest < 0n ? 0n : rest);
}

/** Whether an earlier share has the same beneficiary. */
export const isTwice = (shares: readonly (ShareInput | undefined)[], index: number): boolean => {
  const own = shares[index]?.beneficiary?.trim();
  return Boolean(own) && shares.slice(0, index).some((share) => share?.beneficiary?.trim() === own);
};

export type PriceError = 'price.number' | 'price.decimals' | 'price.range';

/** What is wrong with a typed price; undefined: nothing that the page knows. */
export function priceError(
  typed: string | undefined,
  decimals: number,
  { price_min: min, price_max: max }: Pick<AppPricing, 'price_min' | 'price_max'>,
): PriceError | undefined {
  const text = typed?.trim() ?? '';
  if (!/^\d+(\.\d+)?$/.test(text)) return 'price.number';
  const units = parseDecimal(text, decimals);
  if (units === null) return 'price.decimals';
  // Limits with more decimals than the currency are left to the server.
  const [least, most] = [parseDecimal(min, decimals), parseDecimal(max, decimals)];
  const isBelow = least !== null && toUnits(units) < toUnits(least);
  const isAbove = most !== null && toUnits(units) > toUnits(most);
  return units === '0' || isBelow || isAbove ? 'price.range' : undefined;
}
