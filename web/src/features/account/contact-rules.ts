/** SPEC.md 9. */
const EMAIL_MAX = 254;
const EMAIL_LOCAL_MAX = 64;

export function emailIsValid(email: string): boolean {
  const [local = '', domain = '', ...rest] = email.split('@');
  return (
    rest.length === 0 &&
    email.length <= EMAIL_MAX &&
    local.length > 0 &&
    local.length <= EMAIL_LOCAL_MAX &&
    /^[^\s@]+$/.test(local) &&
    /^[^\s@.]+(\.[^\s@.]+)+$/.test(domain)
  );
}

/** A number with its country code, spaces and brackets forgiven; the server knows each country's lengths. */
export function phoneIsValid(phone: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(phone.replace(/[\s()./-]/g, ''));
}
