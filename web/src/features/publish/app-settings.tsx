import { useMutation } from '@tanstack/react-query';
import { Flex, Switch, Typography } from 'antd';
import { useId } from 'react';
import { api } from '@/api/client';
import type { UploadedApp } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Section } from '@/features/billing/states';
import { reloadReviews } from '@/features/reviews/queries';
import { useTexts } from '@/features/reviews/texts';
import { dateText } from '@/lib/format';

/** The longest time of automatic publishing that the server allows. */
const AUTO_PUBLISH_DAYS = 365;

/** What a developer decides about an app as a whole. */
export function AppSettings({ app }: { app: UploadedApp }) {
  const { t, language } = useTexts();
  const until = app.auto_publish_until;
  const isAutomatic = until !== null && Date.parse(until) > Date.now();
  return (
    <>
      <Setting
        id="auto-publish"
        title={t('auto.title')}
        text={t('auto.text')}
        label={t('auto.switch')}
        detail={isAutomatic ? t('auto.until', { date: dateText(until, language) }) : undefined}
        failedTitle={t('auto.failed')}
        isOn={isAutomatic}
        change={(isOn) => put(app, 'auto-publish', { days: isOn ? AUTO_PUBLISH_DAYS : null })}
      />
      <Setting
        id="visibility"
        title={t('visibility.title')}
        text={t('visibility.text')}
        label={t('visibility.switch')}
        failedTitle={t('visibility.failed')}
        isOn={!app.private}
        change={(isOn) => put(app, 'visibility', { private: !isOn })}
      />
    </>
  );
}

const put = ({ did }: UploadedApp, setting: string, input: object) =>
  api.put<UploadedApp>(`/api/developer/apps/${encodeURIComponent(did)}/${setting}`, input);

interface SettingProps {
  id: string;
  title: string;
  text: string;
  label: string;
  detail?: string;
  failedTitle: string;
  isOn: boolean;
  change: (isOn: boolean) => Promise<UploadedApp>;
}

function Setting({ id, title, text, label, detail, failedTitle, isOn, change }: SettingProps) {
  const switchId = useId();
  const labelId = useId();
  const action = useMutation({ mutationFn: change, onSuccess: () => reloadReviews(true) });
  return (
    <Section id={id} title={title}>
      <Typography.Paragraph>{text}</Typography.Paragraph>
      <Flex gap={12} align="center" wrap>
        <Switch
          id={switchId}
          aria-labelledby={labelId}
          checked={isOn}
          loading={action.isPending}
          onChange={(checked) => action.mutate(checked)}
        />
        <label id={labelId} htmlFor={switchId} style={{ paddingBlock: 11, cursor: 'pointer' }}>
          {label}
        </label>
        {detail ? <Typography.Text type="secondary">{detail}</Typography.Text> : null}
      </Flex>
      <ActionError title={failedTitle} action={action} />
    </Section>
  );
}
