import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { FieldProblem } from '@/api/error';
import type { Preferences } from '@/api/types';
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
  store_share: ['0', '1'],
} as const satisfies Partial<Record<keyof Preferences, readonly [string, string]>>;
export type DecimalField = keyof typeof DECIMAL_RANGES;

const MAX_DECIMALS = 6;
const DECIMAL = /^\d+(\.\d+)?$/;

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
  if ((value.split('.')[1] ?? '').replace(/0+$/, '').length > MAX_DECIMALS) return { code: 'TOO_PRECISE' };
  if (Number(value) < Number(min) || Number(value) > Number(max)) return { code: 'OUT_OF_RANGE', params: { min, max } };
  return undefined;
}

/** The text of a field's problem. */
export function problemText({ code, params }: FieldProblem, { t }: Pick<Texts, 't'>): string {
  if (code === 'REQUIRED') return t('settings.problem.required');
  if (code === 'OUT_OF_RANGE') return t('settings.problem.range', params);
  if (code === 'TOO_PRECISE') return t('settings.problem.precise', { max: MAX_DECIMALS });
  if (code === 'SYMBOL') return t('settings.problem.symbol', params);
  if (code === 'LESS_THAN') return t('settings.problem.lessThanMinimum');
  return t('settings.problem.invalid');
}
