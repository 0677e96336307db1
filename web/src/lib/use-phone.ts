import { useSyncExternalStore } from 'react';

const query = () => window.matchMedia('(max-width: 767px)');

function onChange(listener: () => void): () => void {
  const media = query();
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

/** Below the medium breakpoint, where tables become lists. */
export function usePhone(): boolean {
  return useSyncExternalStore(onChange, () => query().matches);
}
