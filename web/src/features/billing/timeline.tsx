import { ClockCircleOutlined } from '@ant-design/icons';
import { Timeline } from 'antd';
import type { Subscription } from '@/api/types';
import { dateTimeText } from '@/lib/format';
import { timeline, timeOf } from './subscription-rules';
import { useTexts } from './texts';

/** The past and coming events of a subscription. Coming ones have a clock icon and a text for screen readers. */
export function SubscriptionTimeline({ subscription }: { subscription: Subscription }) {
  const { t, language } = useTexts();
  const now = timeOf(subscription);
  return (
    <Timeline
      items={timeline(subscription, now).map(({ name, at, coming }) => ({
        key: `${name}-${at}`,
        icon: coming ? <ClockCircleOutlined aria-label={t('event.coming')} /> : undefined,
        color: coming ? 'var(--text-2)' : undefined,
        content: (
          <span data-event={name}>
            <strong>{t(`event.${name}`)}</strong>
            <br />
            <time dateTime={new Date(at * 1000).toISOString()}>{dateTimeText(at * 1000, language)}</time>
          </span>
        ),
      }))}
    />
  );
}
