import type { CreditNotePreview, CreditNoteReason, InvoiceLine } from '@/api/types';
import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

/** The reasons that an administrator can choose; the others are given by plan changes, usage and disputes. */
export const NOTE_REASONS = ['other', 'cancellation', 'duplicate', 'fraudulent'] as const satisfies CreditNoteReason[];
export type NoteReason = (typeof NOTE_REASONS)[number];

/** Where the paid part goes: back to the payments, or to the customer's balance. */
export const NOTE_DESTINATIONS = ['refund', 'balance'] as const;
export type NoteDestination = (typeof NOTE_DESTINATIONS)[number];

/** A credit note request, with amounts as typed. */
export interface NoteOrder {
  invoice_id: string;
  items?: { invoice_item_id: string; amount: string; revokes?: boolean }[];
  amount?: string;
  reason: NoteReason;
  memo?: string;
  to: NoteDestination;
}

/** The creditable rest of a line, in base units. */
export const creditableUnits = ({ amount, credited }: Pick<InvoiceLine, 'amount' | 'credited'>): bigint =>
  toUnits(amount) - toUnits(credited);

/** The items of an order from the amount typed for each line; lines without an amount are left out. */
export function typedItems(typed: Record<string, string | undefined>, decimals: number): NoteOrder['items'] {
  return Object.entries(typed).flatMap(([invoice_item_id, text]) => {
    const amount = text?.trim() ?? '';
    return toUnits(parseDecimal(amount, decimals)) > 0n ? [{ invoice_item_id, amount }] : [];
  });
}

/** The order for exactly the previewed amounts. With `keepsAccess`, no item revokes a purchase. */
export function confirmedOrder(
  order: NoteOrder,
  preview: CreditNotePreview,
  decimals: number,
  keepsAccess: boolean,
): NoteOrder {
  const { amount: _, ...rest } = order;
  const items = preview.items.map(({ invoice_item_id, amount, revokes }) => ({
    invoice_item_id,
    amount: formatAmount(amount, decimals),
    revokes: revokes && !keepsAccess,
  }));
  return { ...rest, items };
}

/** Whether an item revokes something that the customer has bought. */
export const endsAccess = ({ items }: CreditNotePreview): boolean => items.some(({ revokes }) => revokes);
