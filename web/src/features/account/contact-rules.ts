import type { FieldProblem } from '@/api/error';
import type { Texts } from '@/features/billing/texts';

/** A number with country code, ignoring separators. The server validates the length per country. */
export function isPhone(phone: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(phone.replace(/[\s()./-]/g, ''));
}

/**
 * The server's errors as texts by field. It names fields as the checkout does (`customer_email`, `billing_address.city`)
 * or as this form sends them.
 */
export const fieldErrors = (
  fields: Record<string, FieldProblem>,
  { t }: Pick<Texts, 't'>,
): [name: string, text: string][] =>
  Object.entries(fields).map(([path, problem]) => {
    const name = path.replace(/^(customer_|billing_address\.|address\.)/, '');
    return [name, fieldText(name, problem, { t })];
  });

function fieldText(name: string, { code, params }: FieldProblem, { t }: Pick<Texts, 't'>): string {
  if (code === 'REQUIRED') return t('profile.fieldRequired');
  if (code === 'TOO_LONG') return t('profile.fieldTooLong', params);
  if (name === 'email') return t('profile.emailInvalid');
  return name === 'phone' ? t('profile.phoneInvalid') : t('profile.fieldInvalid');
}
