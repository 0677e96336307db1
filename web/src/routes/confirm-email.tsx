import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { ConfirmEmail } from '@/features/account/confirm-email';

export const Route = createFileRoute('/confirm-email')({
  validateSearch: (raw: Record<string, unknown>): { token: string } => ({
    token: typeof raw.token === 'string' ? raw.token : '',
  }),
  component: ConfirmEmailPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ConfirmEmailPage() {
  return (
    <ThemeProvider>
      <ConfirmEmail token={Route.useSearch().token} />
    </ThemeProvider>
  );
}
