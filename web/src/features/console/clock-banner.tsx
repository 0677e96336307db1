import { useQuery } from '@tanstack/react-query';
import { Alert, Button } from 'antd';
import { type ReactNode, useState } from 'react';
import { api } from '@/api/client';
import type { Clock } from '@/api/types';
import { queryClient, useUser } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
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

/** Above the pages of the console, except that of the test clocks, which this clock does not concern, while automatic billing has stopped because of the clock. An owner can confirm the clock. */
export function ClockBanner(): ReactNode {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  const [open, setOpen] = useState(false);
  const { data: clock } = useQuery(storeClockQuery);
  if (!clock || clock.trusted) return null;
  return (
    <>
      <Alert
        type="error"
        showIcon
        title={t('clock.title')}
        description={explanation(clock, texts)}
        action={user?.role === 'owner' ? <Button onClick={() => setOpen(true)}>{t('clock.confirm')}</Button> : null}
      />
      {open ? (
        <ConfirmDialog
          title={t('clock.confirm')}
          action={t('clock.confirm')}
          failedTitle={t('clock.failed')}
          run={() => api.put<Clock>('/api/clock/confirm', {})}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            void queryClient.invalidateQueries({ queryKey: storeClockQuery.queryKey });
          }}
        >
          <p>{t('clock.confirmText')}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
