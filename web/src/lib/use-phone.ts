import { useSyncExternalStore } from 'react';

const query = () => window.matchMedia('(max-width: 767px)');

function onChange(listener: () => void): () => void {
  const media = query();
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

/** Whether the window is narrower than the medium breakpoint, where tables become lists. */
export const isPhone = (): boolean => query().matches;

/** The same, followed by the component that asks. */
export function usePhone(): boolean {
  return useSyncExternalStore(onChange, isPhone);
}
