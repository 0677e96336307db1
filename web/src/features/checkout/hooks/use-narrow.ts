import { useSyncExternalStore } from 'react';

/** The width below which the columns are stacked; checkout.css uses the same. */
const query = window.matchMedia('(max-width: 767px)');

const subscribe = (changed: () => void) => {
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
};

export const useNarrow = () => useSyncExternalStore(subscribe, () => query.matches);
