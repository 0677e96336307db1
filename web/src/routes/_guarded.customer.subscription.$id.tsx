import { createFileRoute } from '@tanstack/react-router';
import { oneOf, pageParam } from '@/app/search-params';
import { PAGE_SIZES } from '@/features/portal/queries';
import { SubscriptionPage } from '@/features/portal/subscription-page';

interface SubscriptionSearch {
  page?: number;
  pageSize?: number;
  action?: 'changePayment';
}

export const Route = createFileRoute('/_guarded/customer/subscription/$id')({
  validateSearch: (raw: Record<string, unknown>): SubscriptionSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
    action: oneOf(['changePayment'] as const, raw.action),
  }),
  component: Subscription,
});

function Subscription() {
  return <SubscriptionPage {...Route.useSearch()} {...Route.useParams()} />;
}
