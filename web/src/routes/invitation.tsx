import { createFileRoute, useRouterState } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { InvitationPage } from '@/features/account/invitation';

/** The secret of the link follows the `#`, so that it is sent to the server only in the body of a request. */
export const Route = createFileRoute('/invitation')({
  component: Invitation,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Invitation() {
  return (
    <ThemeProvider>
      <InvitationPage token={useRouterState({ select: ({ location }) => location.hash })} />
    </ThemeProvider>
  );
}
