import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { ManagedCategory, Page, Text } from '@/api/types';
import { categoriesQuery, queryClient } from '@/app/queries';

const PATH = '/api/console/categories';

/** As that of the server (`store/categories`), in characters. */
export const CATEGORY_NAME_MAX = 40;

/** All categories in their order, with the number of all their apps. */
export const managedCategoriesQuery = queryOptions({
  queryKey: ['console', 'categories'],
  queryFn: () => api.get<Page<ManagedCategory>>(PATH),
  // Apps are published and moved meanwhile.
  staleTime: 0,
});

/** What changes of a category; an absent field stays. `position` counts from 0. */
export interface CategoryChange {
  name?: Text;
  position?: number;
}

export const createCategory = (name: Text) => api.post<ManagedCategory>(PATH, { name });

export const createDefaultCategories = () => api.post<Page<ManagedCategory>>(`${PATH}/default`, {});

export const changeCategory = (id: string, change: CategoryChange) =>
  api.put<ManagedCategory>(`${PATH}/${encodeURIComponent(id)}`, change);

export const deleteCategory = (id: string) => api.delete<Page<ManagedCategory>>(`${PATH}/${encodeURIComponent(id)}`);

/** Loads the categories again, here and on the pages of the store. */
export function reloadCategories(): void {
  void queryClient.invalidateQueries({ queryKey: managedCategoriesQuery.queryKey });
  void queryClient.invalidateQueries({ queryKey: categoriesQuery.queryKey });
}

/** A name as the server stores it: one space between words. */
export const categoryName = (typed: string | undefined): string => (typed ?? '').trim().replace(/\s+/g, ' ');

export const isShortEnough = (typed: string | undefined): boolean =>
  [...categoryName(typed)].length <= CATEGORY_NAME_MAX;

/** Letters and digits of any script, and spaces (SPEC.md 5). */
export const hasNameCharacters = (typed: string | undefined): boolean =>
  /^[\p{Alphabetic}\p{N} ]*$/u.test(categoryName(typed));
