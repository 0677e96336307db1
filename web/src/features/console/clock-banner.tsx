import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '@/api/client';
import type { Clock } from '@/api/types';
import { Banner } from './banner';
import { OwnerConfirmation } from './owner-confirmation';
import { storeClockQuery } from './queries';
import { type Texts, useTexts } from './texts';

const SECONDS_PER = { day: 86_400, hour: 3_600, minute: 60 };

/** A difference in the largest unit that it fills. */
function difference(seconds: number, { t }: Texts) {
  const unit = (['day', 'hour', 'minute'] as const).find((each) => seconds >= SECONDS_PER[each]) ?? 'minute';
  return t(`clock.${unit}`, { count: Math.floor(seconds / SECONDS_PER[unit]) });
}

function explanation({ source, ahead_seconds: ahead, host }: Clock, texts: Texts): string {
  const direction = (ahead ?? 0) < 0 ? 'behind' : 'ahead';
  return texts.t(`clock.${direction}`, {
    host: host ?? '',
    source: texts.t(`clock.source.${source ?? 'uptime'}`),
    difference: difference(Math.abs(ahead ?? 0), texts),
  });
}

/** Shown while automatic billing has stopped because of the clock. An owner can confirm the clock. */
export function ClockBanner(): ReactNode {
  const texts = useTexts();
  const { t } = texts;
  const { data: clock } = useQuery(storeClockQuery);
  if (!clock || clock.trusted) return null;
  return (
    <Banner title={t('clock.title')}>
      {explanation(clock, texts)}
      <OwnerConfirmation
        action={t('clock.confirm')}
        failedTitle={t('clock.failed')}
        run={() => api.put<Clock>('/api/clock/confirm', {})}
        queryKey={storeClockQuery.queryKey}
      >
        <p>{t('clock.confirmText')}</p>
      </OwnerConfirmation>
    </Banner>
  );
}
