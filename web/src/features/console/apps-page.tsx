import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button, Flex, Select, Typography } from 'antd';
import { useState } from 'react';
import type { AppState, ManagedApp, VersionStatus } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { categoriesQuery } from '@/app/queries';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { StepDialogOf } from '@/features/reviews/step-dialogs';
import { useTexts as useReviewTexts } from '@/features/reviews/texts';
import { announce } from '@/kit/announce';
import { usePhone } from '@/lib/use-phone';
import { AppCategoryDialog } from './app-category-dialog';
import {
  APP_STATES,
  type AppsFilter,
  isFiltered,
  managedAppsQuery,
  reloadApps,
  stepSubject,
  VERSION_STATUSES,
} from './apps';
import { type AppAction, AppsTable, appTitle } from './apps-table';
import { KeywordSearch } from './keyword-search';
import { CONSOLE_PAGE_SIZE } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

interface AppsPageProps extends AppsFilter {
  page?: number;
}

/** All apps of the store. The filters and the page are in the URL. */
export function AppsPage({ page = 1, ...filter }: AppsPageProps) {
  const { t } = useTexts();
  usePageTitle(t('apps.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <div>
          <Typography.Title level={1}>{t('apps.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('apps.lead')}</Typography.Text>
        </div>
        <Filters filter={filter} />
        <Apps filter={filter} page={page} />
      </Flex>
    </RequireAdmin>
  );
}

function Filters({ filter }: { filter: AppsFilter }) {
  const { t, language } = useTexts();
  const { t: review } = useReviewTexts();
  const navigate = useNavigate();
  const phone = usePhone();
  const categories = useQuery(categoriesQuery).data?.list ?? [];
  const show = (changes: AppsFilter) =>
    void navigate({ to: '/console/apps', search: { ...filter, ...changes }, resetScroll: false });
  return (
    <Flex
      vertical={phone}
      gap={12}
      wrap={!phone}
      align={phone ? 'stretch' : 'end'}
      role="search"
      aria-label={t('apps.search')}
    >
      <KeywordSearch
        label={t('apps.searchHint')}
        action={t('apps.searchAction')}
        keyword={filter.keyword}
        onSearch={(keyword) => show({ keyword })}
      />
      <Select<AppState | 'any'>
        aria-label={t('apps.filter.state')}
        style={{ minWidth: 180 }}
        value={filter.state ?? 'any'}
        onChange={(state) => show({ state: state === 'any' ? undefined : state })}
        options={[
          { value: 'any', label: t('apps.filter.anyState') },
          ...APP_STATES.map((value) => ({ value, label: t(`apps.state.${value}`) })),
        ]}
      />
      <Select<VersionStatus | 'any'>
        aria-label={t('apps.filter.status')}
        style={{ minWidth: 200 }}
        value={filter.status ?? 'any'}
        onChange={(status) => show({ status: status === 'any' ? undefined : status })}
        options={[
          { value: 'any', label: t('apps.filter.anyStatus') },
          ...VERSION_STATUSES.map((value) => ({ value, label: review(`status.${value}`) })),
        ]}
      />
      <Select<string>
        aria-label={t('apps.category')}
        style={{ minWidth: 180 }}
        value={categories.find(({ id }) => id === filter.category_id)?.id ?? 'any'}
        onChange={(id) => show({ category_id: id === 'any' ? undefined : id })}
        options={[
          { value: 'any', label: t('apps.filter.anyCategory') },
          ...categories.map(({ id, name }) => ({ value: id, label: name[language] || name.en })),
        ]}
      />
    </Flex>
  );
}

function Apps({ filter, page }: { filter: AppsFilter; page: number }) {
  const { t, language } = useTexts();
  const { t: review } = useReviewTexts();
  const navigate = useNavigate();
  const [shown, setShown] = useState<{ action: AppAction; app: ManagedApp } | null>(null);
  const { data, error, isPlaceholderData, refetch } = useQuery(managedAppsQuery(filter, page));
  const pagination = usePagination(page, data?.count, CONSOLE_PAGE_SIZE);
  const close = () => setShown(null);
  const done = (text: string) => {
    announce(text);
    reloadApps();
    close();
  };
  if (error && !data) return <LoadError title={t('apps.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0 && !isPlaceholderData)
    return isFiltered(filter) ? (
      <EmptyState text={t('apps.noMatch')}>
        <Button onClick={() => void navigate({ to: '/console/apps' })}>{t('apps.clear')}</Button>
      </EmptyState>
    ) : (
      <EmptyState text={t('apps.empty')} />
    );
  const subject = shown && stepSubject(shown.app, appTitle(shown.app, language));
  return (
    <>
      <AppsTable
        list={data?.list ?? []}
        isLoading={!data || isPlaceholderData}
        pagination={pagination}
        onAction={(action, app) => setShown({ action, app })}
      />
      {shown?.action === 'category' ? (
        <AppCategoryDialog
          app={shown.app}
          name={appTitle(shown.app, language)}
          onClose={close}
          onDone={() => done(t('apps.categorySet', { name: appTitle(shown.app, language) }))}
        />
      ) : null}
      {shown && shown.action !== 'category' && subject ? (
        <StepDialogOf
          step={shown.action}
          review={subject}
          onClose={close}
          onDone={(_, { step }) => done(review(`done.${step}`))}
        />
      ) : null}
    </>
  );
}
