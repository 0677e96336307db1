import { describe, expect, it } from 'vitest';
import { addressLines } from './address-lines';

const address = { line1: '1 Market St', city: 'San Francisco', state: 'CA', postal_code: '94105', country: 'us' };

describe('an address on an invoice', () => {
  it.each([
    [address, ['1 Market St', 'San Francisco, CA 94105', 'United States']],
    [{ ...address, state: '' }, ['1 Market St', 'San Francisco, 94105', 'United States']],
    [{ ...address, city: '' }, ['1 Market St', 'CA 94105', 'United States']],
    [
      { ...address, city: 'Köln', state: '', postal_code: '50667', country: 'de' },
      ['1 Market St', '50667 Köln', 'Germany'],
    ],
    [{ country: 'us' }, []],
  ])('%#: has its city, state and postal code in the order of its country', (given, lines) => {
    expect(addressLines(given, 'en')).toEqual(lines);
  });
});
