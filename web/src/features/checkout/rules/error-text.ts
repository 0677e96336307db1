interface Refusal {
  message?: string;
  errors?: { message?: string }[];
  details?: { message?: string; path?: (string | number)[] }[];
  response?: { data?: unknown };
}

/** The text of an error as people see it: a list of errors, refused details, the server's word, the message itself. */
export function errorText(error: unknown): string {
  if (!error) return 'Unknown error';
  if (typeof error === 'string') return error;
  const refusal = error as Refusal;
  const data = refusal.response?.data as (Refusal & { error?: unknown }) | null | undefined;
  const errors = refusal.errors ?? (Array.isArray(data?.errors) ? data.errors : undefined);
  if (errors?.length) return errors.map((it) => it.message ?? '').join('\n');
  const details = refusal.details ?? (Array.isArray(data?.details) ? data.details : undefined);
  if (details?.length) {
    const parts = details.map((it) => `${(it.path ?? []).join('.')}: ${(it.message ?? '').replaceAll('"', "'")}`);
    return `Validate failed: ${parts.join(';')}`;
  }
  if (data && typeof data === 'object' && typeof data.error === 'string' && data.error) return data.error;
  const message = refusal.message || 'Unknown error';
  return data === undefined || data === null ? message : `${message}: ${JSON.stringify(data)}`;
}
