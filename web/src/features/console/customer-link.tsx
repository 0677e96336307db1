import { Link } from '@tanstack/react-router';

interface CustomerLinkProps {
  id: string;
  customer: { name: string; email: string; did: string } | null;
}

/** Links to a customer's page by name. */
export const CustomerLink = ({ id, customer }: CustomerLinkProps) => (
  <Link to="/console/customers/$id" params={{ id }}>
    {customer?.name || customer?.email || customer?.did || id}
  </Link>
);
