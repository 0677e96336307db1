import { usePhone } from '@/lib/use-phone';
import { InvoiceList } from './invoice-list';
import { type InvoiceListProps, InvoiceTable } from './invoice-table';

/** Invoices as the width of the page allows: a table in pages, or a list by day. */
export function Invoices({ page, pageSize, ...rest }: InvoiceListProps & { page?: number; pageSize?: number }) {
  return usePhone() ? <InvoiceList {...rest} /> : <InvoiceTable page={page} pageSize={pageSize} {...rest} />;
}
