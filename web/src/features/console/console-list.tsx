import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type RecordColumn, RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { CONSOLE_PAGE_SIZE, type consoleListQuery } from './queries';

interface ConsoleListProps<T> {
  query: ReturnType<typeof consoleListQuery<T>>;
  page: number;
  /** The name of the table for screen readers. */
  label: string;
  empty: string;
  failed: string;
  columns: RecordColumn<T>[];
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
    <RecordTable<T>
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
