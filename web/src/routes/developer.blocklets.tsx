import { createFileRoute, redirect } from '@tanstack/react-router';

/** Redirects the URL that published tools print after an upload (reference/store.md 5.3). */
export const Route = createFileRoute('/developer/blocklets')({
  beforeLoad: () => {
    throw redirect({ to: '/developer/apps', replace: true });
  },
});
