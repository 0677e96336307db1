import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Table, type TableColumnsType } from 'antd';
import { LoadError, Nothing } from '@/features/billing/states';
import { type consoleListQuery, ROWS } from './queries';

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
