import { useQuery } from '@tanstack/react-query';
import { Descriptions, type DescriptionsProps, Flex, Typography } from 'antd';
import type { VersionReview } from '@/api/types';
import { categoriesQuery } from '@/app/queries';
import pages from '@/features/billing/pages.module.css';
import { dateTimeText, sizeText } from '@/lib/format';
import { AppTypeText } from './app-facts';
import { personText } from './people';
import { useTexts } from './texts';

interface FactsProps {
  review: VersionReview;
  userDid: string;
}

/** Whose app it is, the times of a version, who has claimed its review, and what counts for its app. */
export function Facts({ review, userDid }: FactsProps) {
  const { t, language } = useTexts();
  const categories = useQuery(categoriesQuery).data;
  const { app, version, current, role, developer_name: developer } = review;
  const category = categories?.list.find(({ id }) => id === app.category_id);
  const time = (at: string) => <time dateTime={at}>{dateTimeText(at, language)}</time>;
  const items: DescriptionsProps['items'] = [
    ...(role === 'app_owner'
      ? []
      : [{ key: 'developer', label: t('facts.developer'), children: <Person name={developer} did={app.owner} /> }]),
    { key: 'appType', label: t('apps.type'), children: <AppTypeText type={version.type} /> },
    { key: 'size', label: t('facts.size'), children: sizeText(version.size, language) },
    { key: 'uploaded', label: t('facts.uploaded'), children: time(version.uploaded_at) },
    ...(version.requested_at
      ? [{ key: 'requested', label: t('facts.requested'), children: time(version.requested_at) }]
      : []),
    ...(version.published_at
      ? [{ key: 'published', label: t('facts.published'), children: time(version.published_at) }]
      : []),
    ...(version.publish_at
      ? [{ key: 'publishAt', label: t('facts.publishAt'), children: time(version.publish_at) }]
      : []),
    ...(version.claimed_by
      ? [{ key: 'claimed', label: t('facts.claimed'), children: personText(version.claimed_by, review, userDid, t) }]
      : []),
    ...(version.claimed_until
      ? [{ key: 'until', label: t('facts.claimedUntil'), children: time(version.claimed_until) }]
      : []),
    ...(version.decided_by
      ? [{ key: 'decided', label: t('facts.decided'), children: personText(version.decided_by, review, userDid, t) }]
      : []),
    { key: 'current', label: t('facts.current'), children: current ?? t('facts.noCurrent') },
    {
      key: 'category',
      label: t('facts.category'),
      children: app.category_id ? (category?.name[language] ?? '…') : t('facts.noCategory'),
    },
    {
      key: 'type',
      label: t('facts.reviewType'),
      children: t(app.review_type ? `reviewType.${app.review_type}` : 'reviewType.store'),
    },
  ];
  return (
    <Descriptions
      className={pages.details}
      layout="vertical"
      colon={false}
      column={{ xs: 1, sm: 2, lg: 3 }}
      items={items}
    />
  );
}

/** A name, if there is one, with the DID. */
function Person({ name, did }: { name: string; did: string }) {
  return (
    <Flex vertical align="flex-start" style={{ overflowWrap: 'anywhere' }}>
      {name ? <span>{name}</span> : null}
      <Typography.Text code>{did}</Typography.Text>
    </Flex>
  );
}
