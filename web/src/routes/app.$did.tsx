import { createFileRoute, redirect } from '@tanstack/react-router';

/** The short address of an app; its page has one. */
export const Route = createFileRoute('/app/$did')({
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/apps/$did/{-$version}', params: { did: params.did, version: undefined }, replace: true });
  },
});
