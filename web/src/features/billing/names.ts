import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useUser } from '@/app/queries';
import { localizeNames } from '@/lib/localized-names';
import { entitlementsQuery, subscriptionsQuery } from './queries';
import { useTexts } from './texts';

/**
 * Descriptions of invoices and payments are stored in English. On a Chinese page this replaces the English names of the
 * customer's own products by their Chinese names.
 */
export function useLocalizeName(): (stored: string) => string {
  const { language } = useTexts();
  const user = useUser();
  const options = { enabled: language === 'zh' && Boolean(user) };
  const { data: subscriptions } = useQuery({ ...subscriptionsQuery, ...options });
  const { data: owned } = useQuery({ ...entitlementsQuery, ...options });
  return useMemo(() => {
    const names = new Map<string, string>();
    if (language === 'zh') {
      for (const { app } of owned?.list ?? []) names.set(app.title.en, app.title.zh);
      for (const { items } of subscriptions?.list ?? []) {
        for (const { price } of items) {
          const { name, name_zh } = price.product ?? {};
          if (name && name_zh) names.set(name, name_zh);
        }
      }
    }
    return (stored) => localizeNames(stored, (name) => names.get(name));
  }, [language, owned, subscriptions]);
}
