import { expect, it } from 'vitest';
import { firstPage, visibleNav } from './console-nav';

const withRole = (role: string) => ({ passports: [{ role, name: role }] });
const pages = (role: string, live: boolean) =>
  visibleNav(withRole(role), live).flatMap(({ entries }) => entries.map(({ to }) => to));

it('shows owners the health of the store and what is payable, and test clocks in test mode only', () => {
  expect(pages('owner', true)).toContain('/console/payables');
  expect(pages('admin', true)).not.toContain('/console/payables');
  expect(pages('owner', false)).toContain('/console/doctor');
  expect(pages('admin', false)).not.toContain('/console/doctor');
  expect(pages('admin', false)).toContain('/console/test-clocks');
  expect(pages('admin', true)).not.toContain('/console/test-clocks');
});

it('shows nothing to customers and developers', () => {
  expect(visibleNav(null, false)).toEqual([]);
  expect(pages('developer', false)).toEqual([]);
  expect(firstPage(withRole('developer'), false)).toBeUndefined();
  expect(firstPage(withRole('admin'), false)).toBe('/console/developers');
});

it('opens the queue of versions for reviewers, who see no other page', () => {
  expect(pages('reviewer', false)).toEqual(['/console/reviews']);
  expect(firstPage(withRole('reviewer'), true)).toBe('/console/reviews');
  for (const role of ['owner', 'admin'])
    for (const page of ['/console/reviews', '/console/apps', '/console/categories', '/console/blocked-digests'])
      expect(pages(role, true)).toContain(page);
});
