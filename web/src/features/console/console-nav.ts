import type { SessionUser } from '@/api/types';

type Role = 'owner' | 'admin' | 'reviewer';
type NavUser = Pick<SessionUser, 'passports'> | null | undefined;

interface NavEntry {
  to: string;
  /** The key of its text. */
  key: string;
  /** Users with one of these roles see the page. */
  roles: readonly Role[];
  /** The page exists in test mode only. */
  testOnly?: boolean;
}

interface NavGroup {
  key: string;
  entries: readonly NavEntry[];
}

const ADMINS: readonly Role[] = ['owner', 'admin'];
const REVIEWERS: readonly Role[] = [...ADMINS, 'reviewer'];

/** The pages of the console in their order. A new page of the console is one entry here. */
const CONSOLE_NAV = [
  {
    key: 'publishing',
    entries: [
      { to: '/console/developers', key: 'developers', roles: ADMINS },
      { to: '/console/apps', key: 'apps', roles: ADMINS },
      { to: '/console/reviews', key: 'reviews', roles: REVIEWERS },
      { to: '/console/categories', key: 'categories', roles: ADMINS },
      { to: '/console/blocked-digests', key: 'blockedDigests', roles: ADMINS },
      { to: '/console/settings', key: 'settings', roles: ADMINS },
    ],
  },
  {
    key: 'billing',
    entries: [
      { to: '/console/credit-notes', key: 'creditNotes', roles: ADMINS },
      { to: '/console/disputes', key: 'disputes', roles: ADMINS },
      { to: '/console/stakes', key: 'stakes', roles: ADMINS },
      { to: '/console/on-hold', key: 'onHold', roles: ADMINS },
      { to: '/console/payables', key: 'payables', roles: ['owner'] },
      { to: '/console/payment-methods', key: 'paymentMethods', roles: ADMINS },
      { to: '/console/test-clocks', key: 'testClocks', roles: ADMINS, testOnly: true },
    ],
  },
  {
    key: 'store',
    entries: [
      { to: '/console/audit-log', key: 'auditLog', roles: ADMINS },
      { to: '/console/doctor', key: 'doctor', roles: ['owner'] },
    ],
  },
] as const satisfies readonly NavGroup[];

type Groups = typeof CONSOLE_NAV;
type Entries = Groups[number]['entries'][number];
export type ConsolePath = Entries['to'];
export interface VisibleGroup {
  key: Groups[number]['key'];
  entries: Pick<Entries, 'to' | 'key'>[];
}

/** Whether the user holds a passport of one of these roles. */
export const holdsOne = (user: NavUser, roles: readonly string[]): boolean =>
  user?.passports.some(({ role }) => roles.includes(role)) ?? false;

/** Whether the user judges versions. */
export const isReviewer = (user: NavUser): boolean => holdsOne(user, REVIEWERS);

/** The groups with the pages that the user can open, without empty ones. */
export const visibleNav = (user: NavUser, live: boolean): VisibleGroup[] =>
  CONSOLE_NAV.map(({ key, entries }) => ({
    key,
    entries: (entries as readonly (NavEntry & Entries)[]).filter(
      ({ roles, testOnly }) => holdsOne(user, roles) && !(live && testOnly),
    ),
  })).filter(({ entries }) => entries.length > 0);

/** The page that the console opens with; undefined: the user has none. */
export const firstPage = (user: NavUser, live: boolean): ConsolePath | undefined =>
  visibleNav(user, live)[0]?.entries[0]?.to;
