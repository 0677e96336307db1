import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Table, type TableColumnsType } from 'antd';
import { api, type Query } from '@/api/client';
import type { Page } from '@/api/types';
import { LoadError, Nothing } from '@/features/billing/states';

/** How many rows a page of a console list has. */
const ROWS = 20;

/** One page of a list of the store. The first word of the key names it. */
export const consoleListQuery = <T,>(key: string, path: string, page: number, filter: Query) =>
  queryOptions({
    queryKey: [key, 'list', page, filter],
    queryFn: () => api.get<Page<T>>(path, { ...filter, page, pageSize: ROWS }),
    placeholderData: keepPreviousData,
  });

interface ConsoleListProps<T> {
  query: ReturnType<typeof consoleListQuery<T>>;
  page: number;
  /** The name of the table for screen readers. */
  label: string;
  empty: string;
  failed: string;
  columns: TableColumnsType<T>;
}

/** A list of the store in pages; the page is in the address. */
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
  if (data?.count === 0) return <Nothing text={empty} />;
  const turn = (next: number) =>
    void navigate({
      to: '.',
      search: (kept: object) => ({ ...kept, page: next === 1 ? undefined : next }),
      resetScroll: false,
    } as never);
  return (
    <Table<T>
      aria-label={label}
      rowKey="id"
      columns={columns}
      dataSource={data?.list ?? []}
      loading={isFetching && (!data || isPlaceholderData)}
      scroll={{ x: 'max-content' }}
      pagination={
        data && data.count > ROWS
          ? { current: page, pageSize: ROWS, total: data.count, showSizeChanger: false, onChange: turn }
          : false
      }
    />
  );
}
