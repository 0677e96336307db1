import { describe, expect, it } from 'vitest';
import { ApiError, errorText } from './error';

describe('the text of an error', () => {
  it('is "Unknown error" when there is none', () => {
    expect(errorText(null)).toBe('Unknown error');
    expect(errorText(undefined)).toBe('Unknown error');
  });

  it('joins a list of errors by newlines', () => {
    expect(errorText({ errors: [{ message: 'a' }, { message: 'b' }] })).toBe('a\nb');
  });

  it('names the path of each detail and turns double quotes into single ones', () => {
    const details = [
      { path: ['a', 'b'], message: '"x" is required' },
      { path: ['c'], message: 'n' },
    ];
    expect(errorText({ details })).toBe("Validate failed: a.b: 'x' is required;c: n");
  });

  it('is the error of the response body', () => {
    expect(errorText(new ApiError('M', 400, { error: 'Exceed inventory' }))).toBe('Exceed inventory');
  });

  it('shows the body when it has no error text', () => {
    expect(errorText({ message: 'M', response: { data: { code: 1 } } })).toBe('M: {"code":1}');
  });

  it('is the message of any other error', () => {
    expect(errorText(new Error('offline'))).toBe('offline');
  });
});

describe('an API error', () => {
  it('has the code and the field errors of the response', () => {
    const error = new ApiError('M', 400, {
      error: 'no',
      code: 'VALIDATION',
      fields: { customer_email: { code: 'INVALID' } },
    });
    expect(error.code).toBe('VALIDATION');
    expect(error.fields).toEqual({ customer_email: { code: 'INVALID' } });
  });
});
