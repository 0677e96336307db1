import { createFileRoute } from '@tanstack/react-router';
import { oneOf } from '@/app/search-params';
import { InvoicePage } from '@/features/portal/invoice-page';

interface InvoiceSearch {
  action?: 'pay' | 'renew';
}

export const Route = createFileRoute('/_guarded/customer/invoice/$id')({
  validateSearch: (raw: Record<string, unknown>): InvoiceSearch => ({
    action: oneOf(['pay', 'renew'] as const, raw.action),
  }),
  component: Invoice,
});

function Invoice() {
  return <InvoicePage {...Route.useParams()} {...Route.useSearch()} />;
}
