import type { CreditNotePreview, CreditNoteReason, InvoiceLine } from '@/api/types';
import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

/** The reasons that an administrator can choose; the others are given by plan changes, usage and disputes. */
export const NOTE_REASONS = ['other', 'cancellation', 'duplicate', 'fraudulent'] as const satisfies CreditNoteReason[];
export type NoteReason = (typeof NOTE_REASONS)[number];

/** Where the part goes that was paid already: back to the payments, or to the customer's balance. */
export const NOTE_DESTINATIONS = ['refund', 'balance'] as const;
export type NoteDestination = (typeof NOTE_DESTINATIONS)[number];

/** A credit note as it is ordered, with amounts as people write them. */
export interface NoteOrder {
  invoice_id: string;
  items?: { invoice_item_id: string; amount: string; revokes?: boolean }[];
  amount?: string;
  reason: NoteReason;
  memo?: string;
  to: NoteDestination;
}

/** What can still be credited of a line, in base units. */
export const creditableUnits = ({ amount, credited }: Pick<InvoiceLine, 'amount' | 'credited'>): bigint =>
  toUnits(amount) - toUnits(credited);

/** The items of an order from what was typed for each line; lines without an amount are left out. */
export function typedItems(typed: Record<string, string | undefined>, decimals: number): NoteOrder['items'] {
  return Object.entries(typed).flatMap(([invoice_item_id, text]) => {
    const amount = text?.trim() ?? '';
    return toUnits(parseDecimal(amount, decimals)) > 0n ? [{ invoice_item_id, amount }] : [];
  });
}

/** The order that does what was previewed; with `keepsAccess` none of its items ends what the customer has bought. */
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

/** Whether something that the customer has bought would end. */
export const endsAccess = ({ items }: CreditNotePreview): boolean => items.some(({ revokes }) => revokes);
