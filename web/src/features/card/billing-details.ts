import type { CardContact } from './dialog';

/** Billing details by the names of Stripe's API. */
export interface BillingDetails {
  name?: string;
  email?: string;
  phone?: string;
  address?: Partial<Record<'country' | 'postal_code' | 'state' | 'city' | 'line1' | 'line2', string>>;
}

type Collected = 'auto' | 'never';

const present = (values: Record<string, string | null | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])));

/** The known details. Unknown ones are left out: Stripe rejects an empty country and checks a postal code. */
function detailsOf(contact: CardContact): BillingDetails {
  const { name, email, phone, country, postalCode, state, city, line1, line2 } = contact;
  const address = present({ country: country?.toUpperCase(), postal_code: postalCode, state, city, line1, line2 });
  return { ...present({ name, email, phone }), address };
}

/**
 * What the Payment Element collects, and what is sent with its confirmation. A field that it never collects must be
 * sent; one that it collects itself must not be. Without a postal code it also asks for the country, because that
 * decides whether there is a postal code; the known country is preset.
 */
export function billingDetailsFor(contact: CardContact) {
  const { address = {}, ...person } = detailsOf(contact);
  const { country, postal_code, ...street } = address;
  const place = country && postal_code ? { country, postal_code } : {};
  const sent: BillingDetails = { ...person, address: { ...street, ...place } };
  const collected = (value: string | undefined): Collected => (value ? 'never' : 'auto');
  return {
    defaults: { ...person, address },
    fields: {
      name: collected(person.name),
      email: collected(person.email),
      phone: collected(person.phone),
      address: {
        country: collected(place.country),
        postalCode: collected(place.postal_code),
        state: collected(street.state),
        city: collected(street.city),
        line1: collected(street.line1),
        line2: collected(street.line2),
      },
    },
    sent,
  };
}
