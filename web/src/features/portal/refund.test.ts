import { expect, it } from 'vitest';
import { mayRefund } from './refund';

it('only those who run the store give money back', () => {
  const users = [{ role: 'owner' }, { role: 'admin' }, { role: '' }, null] as const;
  expect(users.map((user) => mayRefund(user))).toEqual([true, true, false, false]);
});
