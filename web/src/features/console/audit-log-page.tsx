import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Button, Flex, Form, Input, Select, Tag, Typography } from 'antd';
import type { AuditEntry } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import auditTexts from '@/i18n/en/audit.json';
import { dateTimeText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { ACTOR_TYPES, type AuditFilter, auditLogQuery } from './audit-queries';
import { RequireAdmin } from './require-admin';
import { type Texts, useTexts } from './texts';

type OperationKey = Extract<keyof typeof auditTexts, `audit.op.${string}`>;
const OPERATIONS = (Object.keys(auditTexts) as (keyof typeof auditTexts)[]).filter((key): key is OperationKey =>
  key.startsWith('audit.op.'),
);
const codeOf = (key: OperationKey) => key.slice('audit.op.'.length);

/** The action in words; a code that this version does not know as it is. */
const operationText = (code: string, { t }: Texts) => {
  const key = OPERATIONS.find((each) => codeOf(each) === code);
  return key ? t(key) : code;
};

const actorName = ({ actor }: AuditEntry, { t }: Texts) => {
  if (actor.type === 'command') return t('audit.byCommand');
  const name = actor.name || `${actor.id.slice(0, 8)}…${actor.id.slice(-6)}`;
  return actor.type === 'key' ? t('audit.byKey', { name }) : name;
};

/** What administrators, API keys and commands have done, newest first. The filters are in the URL. */
export function AuditLogPage({ filter }: { filter: AuditFilter }) {
  const { t } = useTexts();
  usePageTitle(t('audit.title'));
  return (
    <RequireAdmin>
      <AuditLog filter={filter} />
    </RequireAdmin>
  );
}

function AuditLog({ filter }: { filter: AuditFilter }) {
  const texts = useTexts();
  const { t, language } = texts;
  const navigate = useNavigate();
  const phone = usePhone();
  const { data, error, isFetching, isFetchingNextPage, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery(
    auditLogQuery(filter),
  );
  const entries = data?.pages.flatMap(({ list }) => list) ?? [];
  const show = (changes: AuditFilter) =>
    void navigate({ to: '/console/audit-log', search: { ...filter, ...changes }, resetScroll: false });
  const byActor = entries.find(({ actor }) => actor.id === filter.actor);
  return (
    <Flex vertical gap={24} align="stretch">
      <div>
        <Typography.Title level={1}>{t('audit.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('audit.lead')}</Typography.Text>
      </div>
      <Flex gap={12} wrap align="end">
        <Select<'all' | (typeof ACTOR_TYPES)[number]>
          aria-label={t('audit.filter.kind')}
          style={{ minWidth: 240 }}
          value={filter.actor_type ?? 'all'}
          onChange={(kind) => show({ actor_type: kind === 'all' ? undefined : kind })}
          options={(['all', ...ACTOR_TYPES] as const).map((value) => ({ value, label: t(`audit.kind.${value}`) }))}
        />
        <Select
          aria-label={t('audit.filter.operation')}
          style={{ minWidth: 240 }}
          allowClear
          showSearch={{ optionFilterProp: 'label' }}
          placeholder={t('audit.filter.allOperations')}
          value={filter.operation}
          onChange={(operation?: string) => show({ operation })}
          options={OPERATIONS.map((key) => ({ value: codeOf(key), label: t(key) }))}
        />
        <ObjectFilter key={filter.object} object={filter.object} onChange={(object) => show({ object })} />
      </Flex>
      {filter.actor ? (
        <div>
          <Tag closable={{ 'aria-label': t('audit.filter.clear') }} onClose={() => show({ actor: undefined })}>
            {t('audit.filter.actor', { name: byActor ? actorName(byActor, texts) : filter.actor })}
          </Tag>
        </div>
      ) : null}
      {error && !data ? (
        <LoadError title={t('audit.error')} error={error} onRetry={() => void refetch()} />
      ) : data && entries.length === 0 ? (
        <EmptyState text={t('audit.empty')} />
      ) : (
        <RecordTable<AuditEntry>
          label={t('audit.title')}
          list={entries}
          isLoading={isFetching && !data}
          columns={[
            {
              key: 'operation',
              title: t('audit.operation'),
              render: (_, { operation, livemode }) => (
                <Flex gap={8} align="center" wrap>
                  {operationText(operation, texts)}
                  {typeof livemode === 'boolean' ? <Tag>{t(livemode ? 'audit.live' : 'audit.test')}</Tag> : null}
                </Flex>
              ),
            },
            {
              key: 'actor',
              title: t('audit.actor'),
              render: (_, entry) => {
                const name = actorName(entry, texts);
                if (!entry.actor.id) return name;
                return (
                  <Button
                    type="link"
                    size="small"
                    style={{
                      height: 'auto',
                      minHeight: phone ? 44 : undefined,
                      paddingInline: 0,
                      textAlign: 'start',
                      whiteSpace: 'normal',
                    }}
                    title={entry.actor.id}
                    aria-label={t('audit.onlyActor', { name })}
                    onClick={() => show({ actor: entry.actor.id })}
                  >
                    {name}
                  </Button>
                );
              },
            },
            {
              key: 'objects',
              title: t('audit.objects'),
              render: (_, { objects }) =>
                objects.length > 0 ? (
                  <Flex vertical style={{ maxWidth: 240, overflowWrap: 'anywhere' }}>
                    {objects.map((id) => (
                      <ObjectName key={id} id={id} />
                    ))}
                  </Flex>
                ) : null,
            },
            {
              key: 'time',
              title: t('audit.time'),
              render: (_, { created_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
            },
            { key: 'address', title: t('audit.address'), render: (_, { address }) => address ?? '' },
          ]}
        />
      )}
      {hasNextPage ? (
        <div>
          <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {t('audit.more')}
          </Button>
        </div>
      ) : null}
    </Flex>
  );
}

function ObjectFilter({ object, onChange }: { object?: string; onChange: (object?: string) => void }) {
  const { t } = useTexts();
  return (
    <Form<{ object?: string }>
      layout="inline"
      initialValues={{ object }}
      onFinish={(values) => onChange(values.object?.trim() || undefined)}
    >
      <Form.Item name="object" style={{ marginInlineEnd: 8 }}>
        <Input
          aria-label={t('audit.filter.object')}
          placeholder={t('audit.filter.objectHint')}
          autoComplete="off"
          spellCheck={false}
          allowClear
          style={{ minWidth: 280 }}
        />
      </Form.Item>
      <Button htmlType="submit">{t('audit.filter.apply')}</Button>
    </Form>
  );
}

/** The id of an object, as a link if the console has a page of it. */
function ObjectName({ id }: { id: string }) {
  if (id.startsWith('in_'))
    return (
      <Link to="/console/invoices/$id" params={{ id }}>
        {id}
      </Link>
    );
  if (id.startsWith('sub_'))
    return (
      <Link to="/console/subscriptions/$id" params={{ id }}>
        {id}
      </Link>
    );
  if (id.startsWith('cus_'))
    return (
      <Link to="/console/customers/$id" params={{ id }}>
        {id}
      </Link>
    );
  if (id.startsWith('pm_'))
    return (
      <Link to="/console/payment-methods/$id" params={{ id }}>
        {id}
      </Link>
    );
  return <span>{id}</span>;
}
