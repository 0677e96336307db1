import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { ThemeProvider } from '@/app/theme-provider';
import { Profile } from '@/features/account/profile';

interface ProfileSearch {
  /** The user to show; defaults to the signed-in user. */
  did?: string;
  name?: string;
}

const text = (value: unknown) => (typeof value === 'string' && value ? value.slice(0, 100) : undefined);

export const Route = createFileRoute('/profile')({
  validateSearch: (raw: Record<string, unknown>): ProfileSearch => ({ did: text(raw.did), name: text(raw.name) }),
  component: ProfilePage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function ProfilePage() {
  return (
    <ThemeProvider>
      <Profile {...Route.useSearch()} />
    </ThemeProvider>
  );
}
