// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import type { DepositTerms, DeveloperProgram, Stake } from '@/api/types';
import { isOpenToAll, type JoinState, joinState } from './program';

type Standing = NonNullable<DeveloperProgram['standing']>;

const standing = (changes: Partial<Standing> = {}): Standing => ({
  blocked: false,
  agreed_at: null,
  developer_since: null,
  by_deposit: false,
  deposit: null,
  ...changes,
});
const deposit = (changes: Partial<Stake>) => changes as Stake;

const program = (changes: Partial<DeveloperProgram> = {}): DeveloperProgram => ({
  permission_mode: 'staking',
  terms_version: 1,
  membership: { amount: '1' } as DepositTerms,
  publication: null,
  paid_apps_allowed: false,
  standing: standing(),
  ...changes,
});

describe('what a user is offered', () => {
  const cases: [name: string, changes: Partial<DeveloperProgram>, expected: JoinState][] = [
    ['a visitor', { standing: null }, 'open'],
    ['a user', {}, 'open'],
    ['a user whose payment is awaited', { standing: standing({ deposit: deposit({ status: 'pending' }) }) }, 'open'],
    [
      'somebody who has left',
      { standing: standing({ deposit: deposit({ status: 'releasing', release_reason: 'requested' }) }) },
      'returning',
    ],
    [
      'somebody who has revoked the deposit',
      { standing: standing({ deposit: deposit({ status: 'releasing', release_reason: 'revoked' }) }) },
      'open',
    ],
    ['a developer', { standing: standing({ developer_since: '2026-11-20T09:30:00.000Z' }) }, 'developer'],
    ['a blocked user', { standing: standing({ blocked: true }) }, 'blocked'],
    ['a user of a store that takes no deposits', { membership: null }, 'unavailable'],
  ];
  it.each(cases)('%s', (_, changes, expected) => {
    expect(joinState(program(changes))).toBe(expected);
  });

  it('depends on how the store accepts developers', () => {
    expect(isOpenToAll(program())).toBe(true);
    expect(isOpenToAll(program({ permission_mode: 'inviting' }))).toBe(false);
    expect(isOpenToAll(undefined)).toBe(false);
  });
});
