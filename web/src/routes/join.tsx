import { createFileRoute, redirect } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { JoinPage } from '@/features/join/join-page';
import { isOpenToAll, programQuery } from '@/features/join/program';

/** The page exists only while users become developers by a deposit (SPEC.md 2). */
export const Route = createFileRoute('/join')({
  loader: async ({ context: { queryClient } }) => {
    // A failed query does not block the page, which shows the error.
    const program = await queryClient.fetchQuery(programQuery).catch(() => undefined);
    if (program && !isOpenToAll(program)) throw redirect({ to: '/', replace: true });
  },
  component: Join,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Join() {
  return (
    <ThemeProvider>
      <JoinPage />
    </ThemeProvider>
  );
}
