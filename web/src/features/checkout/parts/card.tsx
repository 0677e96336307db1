import CardDialog, { type CardContact, type CardDialogProps } from '@/features/card/dialog';
import type { FormValues } from '../rules/fields';
import { mountPrefix } from '../rules/view';

/** What the card form needs of the order's form. */
const contactOf = (values: FormValues): CardContact => ({
  name: values.customer_name,
  email: values.customer_email,
  phone: values.customer_phone,
  country: values['billing_address.country'],
  postalCode: values['billing_address.postal_code'],
  state: values['billing_address.state'],
  city: values['billing_address.city'],
  line1: values['billing_address.line1'],
  line2: values['billing_address.line2'],
});

/** The card dialog of an order: whose card it is, the order's form says. */
export default function OrderCard({
  values,
  sessionId,
  ...rest
}: Omit<CardDialogProps, 'contact'> & { values: FormValues; sessionId: string }) {
  // An inline page's address names the link, which would begin another order.
  const back = new URL(`${mountPrefix(window.location.pathname)}/checkout/pay/${sessionId}`, window.location.href);
  back.search = window.location.search;
  return <CardDialog {...rest} contact={contactOf(values)} returnUrl={back.href} />;
}
