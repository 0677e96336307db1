import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { FieldProblem } from '@/api/error';
import type { Preferences } from '@/api/types';
import { groupDecimal } from '@/features/billing/decimal';
import type { Texts } from './texts';

export const preferencesQuery = queryOptions({
  queryKey: ['console', 'preferences'],
  queryFn: () => api.get<Preferences>('/api/console/preferences'),
});

export const savePreferences = (preferences: Preferences) =>
  api.put<Preferences>('/api/console/preferences', preferences);

/** The ranges of whole numbers, as those of the server (`publishing/preferences.rs`). */
export const RANGES = {
  passport_waiting_days: [1, 365],
  publish_waiting_days: [1, 365],
  bundle_max_mb: [1, 2000],
  logo_max_kb: [10, 10_000],
  image_max_mb: [1, 50],
  image_count_min: [0, 20],
  image_count_max: [1, 20],
  image_width_min: [1, 8000],
  image_height_min: [1, 8000],
} as const satisfies Partial<Record<keyof Preferences, readonly [number, number]>>;
export type WholeNumber = keyof typeof RANGES;

/** The ranges of decimals: texts, because a number would round them. */
export const DECIMAL_RANGES = {
  passport_stake_amount: ['0.000001', '1000000'],
  publish_stake_amount: ['0.000001', '1000000'],
  price_min: ['0.000001', '1000000'],
  price_max: ['0.000001', '1000000'],
  // The form shows a percentage.
  store_share: ['0', '100'],
} as const satisfies Partial<Record<keyof Preferences, readonly [string, string]>>;
export type DecimalField = keyof typeof DECIMAL_RANGES;

/** The lists of issuers of CI tokens, with an example of each. */
export const ISSUER_EXAMPLES = {
  github_issuers: 'https://token.actions.githubusercontent.com',
  gitlab_issuers: 'https://gitlab.com',
} as const satisfies Partial<Record<keyof Preferences, string>>;
export type IssuerField = keyof typeof ISSUER_EXAMPLES;
const ISSUERS_MAX = 10;

/** What is wrong with a list of issuers; undefined: nothing. Hosts and paths are checked by the server. */
export function issuersProblem(addresses: string[] | undefined): FieldProblem | undefined {
  const list = addresses ?? [];
  const isValid = list.every((address) => /^https?:\/\/[^\s?#@]*[^\s?#@/]$/.test(address));
  if (isValid && new Set(list).size === list.length && list.length <= ISSUERS_MAX) return undefined;
  return { code: 'ADDRESSES', params: { max: String(ISSUERS_MAX) } };
}

const MAX_DECIMALS = 6;
/** Of a percentage, which is a share with two decimal places less. */
const MAX_PERCENT_DECIMALS = MAX_DECIMALS - 2;
const DECIMAL = /^\d+(\.\d+)?$/;

/** A share as a percentage: `30` for `0.3`. Rounding removes the error of the float, which has more digits than a share. */
export const percentOf = (share: string): string => String(Number((Number(share) * 100).toFixed(MAX_PERCENT_DECIMALS)));
/** The share of a valid percentage. */
export const shareOf = (percent: string): string => String(Number((Number(percent) / 100).toFixed(MAX_DECIMALS)));

/** What is wrong with a whole number; undefined: nothing. */
export function wholeNumberProblem(field: WholeNumber, value: number | null | undefined): FieldProblem | undefined {
  const [min, max] = RANGES[field];
  if (value === null || value === undefined) return { code: 'REQUIRED' };
  if (Number.isInteger(value) && value >= min && value <= max) return undefined;
  return { code: 'OUT_OF_RANGE', params: { min: String(min), max: String(max) } };
}

/** What is wrong with a decimal text; undefined: nothing. Rounding only concerns digits that are too many in any case. */
export function decimalProblem(field: DecimalField, text: string | undefined): FieldProblem | undefined {
  const [min, max] = DECIMAL_RANGES[field];
  const value = text?.trim() ?? '';
  if (!value) return { code: 'REQUIRED' };
  if (!DECIMAL.test(value)) return { code: 'INVALID' };
  const most = field === 'store_share' ? MAX_PERCENT_DECIMALS : MAX_DECIMALS;
  if ((value.split('.')[1] ?? '').replace(/0+$/, '').length > most)
    return { code: 'TOO_PRECISE', params: { max: String(most) } };
  if (Number(value) < Number(min) || Number(value) > Number(max)) return { code: 'OUT_OF_RANGE', params: { min, max } };
  return undefined;
}

/** The text of a field's problem. */
export function problemText({ code, params }: FieldProblem, { t }: Pick<Texts, 't'>): string {
  if (code === 'REQUIRED') return t('settings.problem.required');
  if (code === 'OUT_OF_RANGE')
    return t('settings.problem.range', { min: groupDecimal(params?.min ?? ''), max: groupDecimal(params?.max ?? '') });
  if (code === 'TOO_PRECISE') return t('settings.problem.precise', { max: params?.max ?? MAX_DECIMALS });
  if (code === 'SYMBOL') return t('settings.problem.symbol', params);
  if (code === 'NO_DEPOSITS') return t('settings.problem.noDeposits');
  if (code === 'ADDRESSES') return t('settings.problem.addresses', params);
  if (code === 'LESS_THAN') return t('settings.problem.lessThanMinimum');
  return t('settings.problem.invalid');
}
