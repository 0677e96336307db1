import { createFileRoute } from '@tanstack/react-router';
import { pageParam } from '@/app/search-params';
import { ContactForm } from '@/features/account/contact-form';
import { Portal } from '@/features/portal/portal';
import { PAGE_SIZES } from '@/features/portal/queries';

interface PortalSearch {
  page?: number;
  pageSize?: number;
}

export const Route = createFileRoute('/_guarded/customer/')({
  validateSearch: (raw: Record<string, unknown>): PortalSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
  }),
  component: PortalPage,
});

function PortalPage() {
  return <Portal {...Route.useSearch()} details={<ContactForm />} />;
}
