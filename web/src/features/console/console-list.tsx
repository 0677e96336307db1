import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Flex, Table, type TablePaginationConfig } from 'antd';
import type { ReactNode } from 'react';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePhone } from '@/lib/use-phone';
import styles from './console-list.module.css';
import { CONSOLE_PAGE_SIZE, type consoleListQuery } from './queries';

interface ConsoleColumn<T> {
  key: string;
  title: ReactNode;
  align?: 'end';
  className?: string;
  render: (value: unknown, entry: T) => ReactNode;
}

interface ConsoleListProps<T> {
  query: ReturnType<typeof consoleListQuery<T>>;
  page: number;
  /** The name of the table for screen readers. */
  label: string;
  empty: string;
  failed: string;
  columns: ConsoleColumn<T>[];
}

/** A paginated list of the store. The page is in the URL. */
export function ConsoleList<T extends { id: string }>({
  query,
  page,
  label,
  empty,
  failed,
  columns,
}: ConsoleListProps<T>) {
  const navigate = useNavigate();
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(query);
  if (error && !data) return <LoadError title={failed} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={empty} />;
  const onPageChange = (next: number) =>
    void navigate({
      to: '.',
      search: (previous: object) => ({ ...previous, page: next === 1 ? undefined : next }),
      resetScroll: false,
    } as never);
  return (
    <ConsoleTable<T>
      label={label}
      columns={columns}
      list={data?.list ?? []}
      isLoading={isFetching && (!data || isPlaceholderData)}
      pagination={
        data && data.count > CONSOLE_PAGE_SIZE
          ? {
              current: page,
              pageSize: CONSOLE_PAGE_SIZE,
              total: data.count,
              showSizeChanger: false,
              onChange: onPageChange,
            }
          : false
      }
    />
  );
}

interface ConsoleTableProps<T> {
  /** The name of the table for screen readers. */
  label: string;
  columns: ConsoleColumn<T>[];
  list: T[];
  isLoading: boolean;
  pagination?: TablePaginationConfig | false;
}

/** A table of the console. On a phone, each entry lists its columns below each other. */
export function ConsoleTable<T extends { id: string }>({
  label,
  columns,
  list,
  isLoading,
  pagination = false,
}: ConsoleTableProps<T>) {
  const phone = usePhone();
  return (
    <Table<T>
      aria-label={label}
      rowKey="id"
      columns={phone ? [{ key: 'entry', render: (_, entry) => <Entry columns={columns} entry={entry} /> }] : columns}
      showHeader={!phone}
      dataSource={list}
      loading={isLoading}
      scroll={phone ? undefined : { x: 'max-content' }}
      pagination={pagination}
    />
  );
}

/** The first column of an entry, followed by the others with their titles. */
function Entry<T>({ columns: [first, ...others], entry }: { columns: ConsoleColumn<T>[]; entry: T }) {
  return (
    <Flex vertical gap={8}>
      {first?.render(undefined, entry)}
      <dl className={styles.facts}>
        {others.map(({ key, title, className, render }) => {
          const content = render(undefined, entry);
          if (!content) return null;
          return (
            <div key={key}>
              <dt>{title}</dt>
              <dd className={className}>{content}</dd>
            </div>
          );
        })}
      </dl>
    </Flex>
  );
}
