import { useEffect, useState } from 'react';
import { api } from '@/api/client';
import { useLocale } from '@/i18n/light';
import type { Localized } from '../wire';

export interface AppTexts {
  title?: string;
  description?: string;
}

/** Products are named in English; the app that one sells knows its Chinese name. Null until it is known. */
export function useAppTexts(did: string | null | undefined): AppTexts | null {
  const locale = useLocale();
  const [app, setApp] = useState<{ did: string; title: Localized; description: Localized } | null>(null);
  const wanted = locale === 'zh' ? did : null;
  useEffect(() => {
    if (!wanted) return;
    let gone = false;
    api.get<{ title: Localized; description: Localized }>(`/api/apps/${wanted}`).then(
      ({ title, description }) => {
        if (!gone) setApp({ did: wanted, title, description });
      },
      () => undefined,
    );
    return () => {
      gone = true;
    };
  }, [wanted]);
  return app && app.did === wanted ? { title: app.title.zh, description: app.description.zh } : null;
}
