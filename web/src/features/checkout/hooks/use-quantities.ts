import { useRef, useState } from 'react';
import { adjustQuantity, repeated } from '../calls';
import { pricedAs } from '../rules/price';
import { quantityError, quantityRange } from '../rules/quantity';
import type { CheckoutSession, LineItem } from '../wire';
import type { Amend } from './use-amendments';

const SETTLE_MS = 300;
const LOST_CHANGES = 2;

export interface Quantities {
  /** By price: a code of the catalogue, `range` for what is no quantity at all, or the server's sentence. */
  quantityErrors: Record<string, string>;
  quantityOf: (item: LineItem) => number;
  /** Null: what stands in the box is no number. */
  setQuantity: (priceId: string, quantity: number | null) => void;
  /** No payment may begin: a quantity is wrong or not yet what the server has. */
  blocked: boolean;
}

/** What the buyer wants, beside what the server has accepted. Wishes are sent once the typing has settled. */
export function useQuantities({ id, line_items: items }: CheckoutSession, amend: Amend): Quantities {
  const [wishes, setWishes] = useState<Record<string, number>>({});
  const [refusals, setRefusals] = useState<Record<string, string>>({});
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  /** What the server was told last, while its answer is awaited; `quantity` null once it refused: it is told anew. */
  const sent = useRef(new Map<string, { quantity: number | null }>());

  const errors: Record<string, string> = {};
  for (const item of items) {
    const error = quantityError(pricedAs(item), wishes[item.price_id] ?? item.quantity);
    if (error) errors[item.price_id] = error;
  }
  Object.assign(errors, refusals);

  const send = async (priceId: string, quantity: number) => {
    const mine = { quantity };
    sent.current.set(priceId, mine);
    const refusal = await amend(() => repeated(() => adjustQuantity(id, priceId, quantity), LOST_CHANGES));
    // Another wish is on its way by now: what becomes of that one counts.
    if (sent.current.get(priceId) !== mine) return;
    if (refusal) {
      sent.current.set(priceId, { quantity: null });
      setRefusals((all) => ({ ...all, [priceId]: refusal }));
      return;
    }
    sent.current.delete(priceId);
    setWishes((all) => (all[priceId] === quantity ? without(all, priceId) : all));
  };

  const setQuantity = (priceId: string, quantity: number | null) => {
    const item = items.find((it) => it.price_id === priceId);
    if (!item) return;
    clearTimeout(timers.current.get(priceId));
    const { minimum, maximum } = quantityRange(item);
    if (quantity === null || quantity < minimum || quantity > maximum) {
      setRefusals((all) => ({ ...all, [priceId]: 'range' }));
      return;
    }
    setRefusals((all) => without(all, priceId));
    const told = sent.current.get(priceId);
    const known = told ? told.quantity : item.quantity;
    const settled = !told && quantity === item.quantity;
    setWishes((all) => (settled ? without(all, priceId) : { ...all, [priceId]: quantity }));
    if (quantity === known || quantityError(pricedAs(item), quantity)) return;
    timers.current.set(
      priceId,
      setTimeout(() => send(priceId, quantity), SETTLE_MS),
    );
  };

  return {
    quantityErrors: errors,
    quantityOf: (item) => wishes[item.price_id] ?? item.quantity,
    setQuantity,
    blocked: Object.keys(errors).length > 0 || Object.keys(wishes).length > 0,
  };
}

function without<T>(all: Record<string, T>, name: string): Record<string, T> {
  const { [name]: _, ...rest } = all;
  return rest;
}
