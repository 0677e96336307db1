/** A number with country code, ignoring separators. The server validates the length per country. */
export function isPhone(phone: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(phone.replace(/[\s()./-]/g, ''));
}
