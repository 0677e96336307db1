import { createFileRoute, redirect } from '@tanstack/react-router';
import { firstPage } from '@/features/console/console-nav';
import { RequireAdmin } from '@/features/console/require-admin';
import { livemode } from '@/lib/livemode';

/** Opens the first page of the user's roles. */
export const Route = createFileRoute('/_auth/console/')({
  beforeLoad: ({ context: { user } }) => {
    const to = firstPage(user, livemode());
    if (to) throw redirect({ to, replace: true });
  },
  component: () => <RequireAdmin>{null}</RequireAdmin>,
});
