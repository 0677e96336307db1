import { useRef, useState } from 'react';
import { adjustQuantity, withRetries } from '../calls';
import { effectivePrice } from '../rules/price';
import { quantityError, quantityRange } from '../rules/quantity';
import type { CheckoutSession, LineItem } from '../types';
import type { UpdateItems } from './use-item-updates';

const DEBOUNCE_MS = 300;
const CHANGE_RETRIES = 2;

export interface Quantities {
  /** By price id: an error code, `range` for an invalid quantity, or a server message. */
  quantityErrors: Record<string, string>;
  quantityOf: (item: LineItem) => number;
  /** `quantity` is null if the field has no valid number. */
  setQuantity: (priceId: string, quantity: number | null) => void;
  /** Payment is blocked: a quantity is invalid or not saved. */
  blocked: boolean;
}

/** Pending quantities beside those that the server has accepted. They are sent after a pause in typing. */
export function useQuantities({ id, line_items: items }: CheckoutSession, updateItems: UpdateItems): Quantities {
  const [pending, setPending] = useState<Record<string, number>>({});
  const [rejections, setRejections] = useState<Record<string, string>>({});
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  /** The request in flight per price; `quantity` is null after a rejection, so that the same value is sent again. */
  const requests = useRef(new Map<string, { quantity: number | null }>());

  const errors: Record<string, string> = {};
  for (const item of items) {
    const error = quantityError(effectivePrice(item), pending[item.price_id] ?? item.quantity);
    if (error) errors[item.price_id] = error;
  }
  Object.assign(errors, rejections);

  const send = async (priceId: string, quantity: number) => {
    const request = { quantity };
    requests.current.set(priceId, request);
    const rejection = await updateItems(() => withRetries(() => adjustQuantity(id, priceId, quantity), CHANGE_RETRIES));
    // A newer request is in flight; its result counts.
    if (requests.current.get(priceId) !== request) return;
    if (rejection) {
      requests.current.set(priceId, { quantity: null });
      setRejections((all) => ({ ...all, [priceId]: rejection }));
      return;
    }
    requests.current.delete(priceId);
    setPending((all) => (all[priceId] === quantity ? omit(all, priceId) : all));
  };

  const setQuantity = (priceId: string, quantity: number | null) => {
    const item = items.find((each) => each.price_id === priceId);
    if (!item) return;
    clearTimeout(timers.current.get(priceId));
    const { minimum, maximum } = quantityRange(item);
    if (quantity === null || quantity < minimum || quantity > maximum) {
      setRejections((all) => ({ ...all, [priceId]: 'range' }));
      return;
    }
    setRejections((all) => omit(all, priceId));
    const inFlight = requests.current.get(priceId);
    const lastSent = inFlight ? inFlight.quantity : item.quantity;
    const isUnchanged = !inFlight && quantity === item.quantity;
    setPending((all) => (isUnchanged ? omit(all, priceId) : { ...all, [priceId]: quantity }));
    if (quantity === lastSent || quantityError(effectivePrice(item), quantity)) return;
    timers.current.set(
      priceId,
      setTimeout(() => send(priceId, quantity), DEBOUNCE_MS),
    );
  };

  return {
    quantityErrors: errors,
    quantityOf: (item) => pending[item.price_id] ?? item.quantity,
    setQuantity,
    blocked: Object.keys(errors).length > 0 || Object.keys(pending).length > 0,
  };
}

function omit<T>(all: Record<string, T>, name: string): Record<string, T> {
  const { [name]: _, ...others } = all;
  return others;
}
