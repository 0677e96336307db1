import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { ClaimOwner } from '@/features/account/claim-owner';

export const Route = createFileRoute('/claim-owner')({
  validateSearch: (raw: Record<string, unknown>): { token: string } => ({
    token: typeof raw.token === 'string' ? raw.token : '',
  }),
  component: ClaimOwnerPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ClaimOwnerPage() {
  return (
    <ThemeProvider>
      <ClaimOwner token={Route.useSearch().token} />
    </ThemeProvider>
  );
}
