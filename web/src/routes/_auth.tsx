import { createFileRoute, Outlet } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { sessionQuery } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { ThemeProvider } from '@/app/theme-provider';

/** The pages of customers and administrators: they use antd, which the store does without. */
export const Route = createFileRoute('/_auth')({
  // The loaders of the pages ask for the user's data only if somebody is signed in. RequireAuth handles the rest.
  beforeLoad: async ({ context: { queryClient } }) => {
    const session = await queryClient.ensureQueryData(sessionQuery).catch(() => null);
    return { user: session?.user ?? null };
  },
  component: SignedInPages,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function SignedInPages() {
  return (
    <RequireAuth>
      <ThemeProvider>
        <Outlet />
      </ThemeProvider>
    </RequireAuth>
  );
}
