import { createFileRoute, Outlet } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { sessionQuery } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { ThemeProvider } from '@/app/theme-provider';

/** The pages of customers and administrators. They use antd, unlike the store. */
export const Route = createFileRoute('/_auth')({
  // Loaders fetch user data only for signed-in users. RequireAuth handles the others.
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
