import { store, stored } from './storage';

const KEY = 'livemode';
const listeners = new Set<() => void>();
let cached: boolean | undefined;

/** The stored mode; undefined if neither the user nor the store has set one. */
export function storedLivemode(): boolean | undefined {
  if (cached !== undefined) return cached;
  const value = stored(KEY);
  return value === 'true' || value === 'false' ? value === 'true' : undefined;
}

/** Live unless test mode was chosen. `initLivemode` of the API client sets the mode of a new browser. */
export function livemode(): boolean {
  return storedLivemode() ?? true;
}

export function setLivemode(live: boolean): void {
  cached = live;
  store(KEY, String(live));
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function onLivemode(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
