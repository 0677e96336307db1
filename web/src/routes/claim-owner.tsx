import { createFileRoute } from '@tanstack/react-router';
import { ClaimOwner } from '@/features/account/claim-owner';

export const Route = createFileRoute('/claim-owner')({
  validateSearch: (raw: Record<string, unknown>): { token: string } => ({
    token: typeof raw.token === 'string' ? raw.token : '',
  }),
  component: ClaimOwnerPage,
});

function ClaimOwnerPage() {
  return <ClaimOwner token={Route.useSearch().token} />;
}
