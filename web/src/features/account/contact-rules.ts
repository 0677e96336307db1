/** A number with its country code; spaces and brackets are ignored. The server knows the lengths of each country. */
export function isPhone(phone: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(phone.replace(/[\s()./-]/g, ''));
}
