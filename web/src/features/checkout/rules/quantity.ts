import type { LineItem, Price } from '../types';

export type QuantityError = 'Exceed inventory' | 'Exceed purchase limit';

/** Checks stock before the limit, like the server. */
export function quantityError(price: Price, quantity: number): QuantityError | null {
  const available = price.quantity_available ?? 0;
  if (available > 0 && (price.quantity_sold ?? 0) + quantity > available) return 'Exceed inventory';
  const limit = price.quantity_limit_per_checkout ?? 0;
  if (limit > 0 && quantity > limit) return 'Exceed purchase limit';
  return null;
}

export interface QuantityRange {
  minimum: number;
  /** Infinity if unlimited. */
  maximum: number;
}

/** The configured range. Stock and purchase limit are checked by `quantityError`, which has messages for them. */
export function quantityRange(item: LineItem): QuantityRange {
  return {
    minimum: Math.max(item.adjustable_quantity?.minimum || 1, 1),
    maximum: item.adjustable_quantity?.maximum || Number.POSITIVE_INFINITY,
  };
}

const MAX_QUANTITY = 1_000_000;

/** Parses the quantity field; null if it is not a whole number in range. */
export function parseQuantity(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,7}$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return value >= 1 && value <= MAX_QUANTITY ? value : null;
}
