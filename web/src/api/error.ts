/** The error of a form field. */
export interface FieldProblem {
  code:
    | 'REQUIRED'
    | 'INVALID'
    | 'TOO_LONG'
    | 'PATTERN'
    | 'OUT_OF_RANGE'
    | 'TOO_PRECISE'
    | 'SYMBOL'
    | 'NO_DEPOSITS'
    | 'LESS_THAN'
    | 'ADDRESSES';
  params?: Record<string, string>;
}

/** An error response: `{error, code?, params?, fields?}` and its status. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** Values for the message of the code. */
  readonly params: Record<string, string>;
  /** The errors of fields by their name in the API (`billing_address.postal_code`). */
  readonly fields: Record<string, FieldProblem>;
  /** The whole response, in the shape that `errorText` reads. */
  readonly response: { status: number; data: unknown };

  constructor(message: string, status: number, data: unknown) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    const body = (data ?? {}) as Partial<Pick<ApiError, 'code' | 'params' | 'fields'>>;
    this.code = typeof body.code === 'string' ? body.code : undefined;
    this.params = body.params ?? {};
    this.fields = body.fields ?? {};
    this.response = { status, data };
  }
}

/** An error that the page finds itself, with the code of its text. */
export class CodedError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = 'CodedError';
    this.code = code;
  }
}

interface ErrorLike {
  message?: string;
  errors?: { message: string }[];
  details?: { message: string; path: (string | number)[] }[];
  response?: { data?: { error?: unknown } | unknown };
}

/** The text of an error as SPEC.md 8 builds it. */
export function errorText(error: unknown): string {
  if (!error) return 'Unknown error';
  const { errors, details, response, message = String(error) } = error as ErrorLike;
  if (Array.isArray(errors)) return errors.map((each) => each.message).join('\n');
  if (Array.isArray(details)) {
    const each = details.map((detail) => `${detail.path.join('.')}: ${detail.message.replace(/"/g, "'")}`);
    return `Validate failed: ${each.join(';')}`;
  }
  if (response) {
    const data = response.data as { error?: unknown } | null | undefined;
    return data?.error ? String(data.error) : `${message}: ${JSON.stringify(data)}`;
  }
  return message;
}
