import type { LineItem, Price } from '../wire';

export type QuantityError = 'Exceed inventory' | 'Exceed purchase limit';

/** Stock is asked before the limit, as the server does. */
export function quantityError(price: Price, quantity: number): QuantityError | null {
  const available = price.quantity_available ?? 0;
  if (available > 0 && (price.quantity_sold ?? 0) + quantity > available) return 'Exceed inventory';
  const limit = price.quantity_limit_per_checkout ?? 0;
  if (limit > 0 && quantity > limit) return 'Exceed purchase limit';
  return null;
}

export interface QuantityRange {
  minimum: number;
  /** Infinity when nothing bounds it. */
  maximum: number;
}

/** What the seller lets a buyer choose. Stock and purchase limit are left to `quantityError`, which says why. */
export function quantityRange(item: LineItem): QuantityRange {
  return {
    minimum: Math.max(item.adjustable_quantity?.minimum || 1, 1),
    maximum: item.adjustable_quantity?.maximum || Number.POSITIVE_INFINITY,
  };
}

const LARGEST = 1_000_000;

/** Reads what was typed into the box; null when it is not a whole number that an order could hold. */
export function parseQuantity(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,7}$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return value >= 1 && value <= LARGEST ? value : null;
}
