import { createFileRoute, redirect } from '@tanstack/react-router';

/** Redirects the short URL of an app to its page. */
export const Route = createFileRoute('/app/$did')({
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/apps/$did/{-$version}', params: { did: params.did, version: undefined }, replace: true });
  },
});
