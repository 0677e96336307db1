import { useQuery } from '@tanstack/react-query';
import { type RecordColumn, RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
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
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(query);
  const pagination = usePagination(page, data?.count, CONSOLE_PAGE_SIZE);
  if (error && !data) return <LoadError title={failed} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={empty} />;
  return (
    <RecordTable<T>
      label={label}
      columns={columns}
      list={data?.list ?? []}
      isLoading={isFetching && (!data || isPlaceholderData)}
      pagination={pagination}
    />
  );
}
