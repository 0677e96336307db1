import { createFileRoute, Outlet } from '@tanstack/react-router';
import { ConsoleLayout } from '@/features/console/console-layout';

/** The pages of administrators and reviewers. */
export const Route = createFileRoute('/_auth/console')({ component: Console });

function Console() {
  return (
    <ConsoleLayout>
      <Outlet />
    </ConsoleLayout>
  );
}
