import { store, stored } from './storage';

const KEY = 'livemode';
const listeners = new Set<() => void>();
let held: boolean | undefined;

/** Undefined in a browser that has never chosen nor been told. */
export function keptLivemode(): boolean | undefined {
  if (held !== undefined) return held;
  const kept = stored(KEY);
  return kept === 'true' || kept === 'false' ? kept === 'true' : undefined;
}

/** Live unless test mode was chosen; see `beginMode` in the API client for a fresh browser in a demo store. */
export function livemode(): boolean {
  return keptLivemode() ?? true;
}

export function setLivemode(live: boolean): void {
  held = live;
  store(KEY, String(live));
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function onLivemode(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
