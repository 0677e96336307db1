import { createFileRoute, redirect } from '@tanstack/react-router';

/** Redirects the URL of a published app that published tools print to its page. */
export const Route = createFileRoute('/blocklets/$did/{-$version}')({
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/apps/$did/{-$version}', params, replace: true });
  },
});
