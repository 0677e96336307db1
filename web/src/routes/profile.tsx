import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { sessionQuery } from '@/app/queries';
import { ThemeProvider } from '@/app/theme-provider';
import { Profile } from '@/features/account/profile';
import { customerQuery } from '@/features/billing/queries';
import { programQuery } from '@/features/join/program';

interface ProfileSearch {
  /** The user to show; defaults to the signed-in user. */
  did?: string;
  name?: string;
}

const text = (value: unknown) => (typeof value === 'string' && value ? value.slice(0, 100) : undefined);

export const Route = createFileRoute('/profile')({
  validateSearch: (raw: Record<string, unknown>): ProfileSearch => ({ did: text(raw.did), name: text(raw.name) }),
  loaderDeps: ({ search: { did } }) => ({ did }),
  // Only the user's own profile has a form. A failed query does not block the page: the form shows the error.
  loader: async ({ context: { queryClient }, deps: { did } }) => {
    const session = await queryClient.ensureQueryData(sessionQuery).catch(() => null);
    const own = session?.user?.did;
    if (own && (!did || did === own))
      await Promise.all([queryClient.prefetchQuery(customerQuery), queryClient.prefetchQuery(programQuery)]);
  },
  component: ProfilePage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ProfilePage() {
  return (
    <ThemeProvider>
      <Profile {...Route.useSearch()} />
    </ThemeProvider>
  );
}
