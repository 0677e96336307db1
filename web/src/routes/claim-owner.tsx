import { createFileRoute } from '@tanstack/react-router';

export const Route = createFileRoute('/claim-owner')({
  component: RouteComponent,
});

function RouteComponent() {
  return <div>Hello "/claim-owner"!</div>;
}
