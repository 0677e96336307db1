import { createFileRoute } from '@tanstack/react-router';
import { pageParam } from '@/app/search-params';
import { PAGE_SIZES } from '@/features/portal/queries';
import { SubscriptionPage } from '@/features/portal/subscription-page';

interface SubscriptionSearch {
  page?: number;
  pageSize?: number;
}

export const Route = createFileRoute('/_guarded/customer/subscription/$id')({
  validateSearch: (raw: Record<string, unknown>): SubscriptionSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
  }),
  component: Subscription,
});

function Subscription() {
  return <SubscriptionPage {...Route.useSearch()} {...Route.useParams()} />;
}
