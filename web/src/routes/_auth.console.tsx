import { createFileRoute, Outlet } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ConsoleLayout } from '@/features/console/console-layout';

/** The pages of administrators and reviewers. */
export const Route = createFileRoute('/_auth/console')({
  component: Console,
  // Otherwise the page is empty, and the footer in sight, while the code of the layout arrives.
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Console() {
  return (
    <ConsoleLayout>
      <Outlet />
    </ConsoleLayout>
  );
}
