import { useSyncExternalStore } from 'react';

const phoneQuery = () => window.matchMedia('(max-width: 767px)');

function onChange(listener: () => void): () => void {
  const media = phoneQuery();
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

/** Whether the window is narrower than the medium breakpoint, below which tables become lists. */
export const isPhone = (): boolean => phoneQuery().matches;

/** Like `isPhone`, and rerenders the component when it changes. */
export function usePhone(): boolean {
  return useSyncExternalStore(onChange, isPhone);
}
