import { Link } from '@tanstack/react-router';
import styles from './customer-link.module.css';

interface CustomerLinkProps {
  id: string;
  customer: { name: string; email: string; did: string } | null;
}

/** Links to a customer's page by name. */
export const CustomerLink = ({ id, customer }: CustomerLinkProps) => (
  <Link to="/console/customers/$id" params={{ id }} className={styles.customer}>
    {customer?.name || customer?.email || customer?.did || id}
  </Link>
);
