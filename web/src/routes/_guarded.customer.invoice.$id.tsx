import { createFileRoute } from '@tanstack/react-router';
import { InvoicePage } from '@/features/portal/invoice-page';

export const Route = createFileRoute('/_guarded/customer/invoice/$id')({ component: Invoice });

function Invoice() {
  return <InvoicePage id={Route.useParams().id} />;
}
