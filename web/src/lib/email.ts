const EMAIL = /^[^\s@"(),:;<>[\]\\]+@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i;

/** SPEC.md 9: at most 254 characters, 64 of them before the @. */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (text.length > 254 || at > 64) return false;
  const local = text.slice(0, at);
  return EMAIL.test(text) && !local.startsWith('.') && !local.endsWith('.') && !local.includes('..');
}
