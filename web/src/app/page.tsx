import { useEffect } from 'react';
import { useStore } from '@/app/queries';

/** Sets the document title. The layout announces it when the route changes. */
export function usePageTitle(title: string | undefined): void {
  const name = useStore()?.name ?? 'Souk';
  useEffect(() => {
    if (title !== undefined) document.title = title ? `${title} · ${name}` : name;
  }, [title, name]);
}
