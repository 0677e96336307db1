import { expect, it } from 'vitest';
import { actsForStore, isAdmin } from './roles';

it('only owners and administrators administer the store', () => {
  const users = [{ role: 'owner' }, { role: 'admin' }, { role: '' }, null] as const;
  expect(users.map((user) => isAdmin(user))).toEqual([true, true, false, false]);
});

it('an administrator acts for the store on objects of other customers', () => {
  expect(actsForStore({ role: 'owner', did: 'z1a' }, 'z1b')).toBe(true);
  expect(actsForStore({ role: 'admin', did: 'z1a' }, 'z1b')).toBe(true);
  expect(actsForStore({ role: 'owner', did: 'z1a' }, 'z1a')).toBe(false);
  expect(actsForStore({ role: '', did: 'z1a' }, 'z1b')).toBe(false);
  expect(actsForStore(null, 'z1b')).toBe(false);
});
