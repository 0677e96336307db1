import CardDialog, { type CardContact, type CardDialogProps } from '@/features/card/dialog';
import type { FormValues } from '../rules/fields';
import { mountPrefix } from '../rules/view';

/** The contact details of the order's form. */
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

/** The card dialog of an order, with the contact details of its form. */
export default function OrderCard({
  values,
  sessionId,
  ...rest
}: Omit<CardDialogProps, 'contact'> & { values: FormValues; sessionId: string }) {
  // The URL of an inline page names the link, which would start another order.
  const returnUrl = new URL(`${mountPrefix(window.location.pathname)}/checkout/pay/${sessionId}`, window.location.href);
  returnUrl.search = window.location.search;
  return <CardDialog {...rest} contact={contactOf(values)} returnUrl={returnUrl.href} />;
}
