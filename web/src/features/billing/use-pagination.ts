import { useNavigate } from '@tanstack/react-router';
import type { TablePaginationConfig } from 'antd';

/** The pagination of a list whose page is in the URL; none if the list fits on one page. */
export function usePagination(
  page: number,
  count: number | undefined,
  pageSize: number,
): TablePaginationConfig | false {
  const navigate = useNavigate();
  if (count === undefined || count <= pageSize) return false;
  return {
    current: page,
    pageSize,
    total: count,
    showSizeChanger: false,
    onChange: (next) =>
      void navigate({
        to: '.',
        search: (previous: object) => ({ ...previous, page: next === 1 ? undefined : next }),
        resetScroll: false,
      } as never),
  };
}
