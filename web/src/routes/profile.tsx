import { createFileRoute } from '@tanstack/react-router';
import { Profile } from '@/features/account/profile';

interface ProfileSearch {
  /** Somebody else; one's own profile without. */
  did?: string;
  name?: string;
}

const text = (value: unknown) => (typeof value === 'string' && value ? value.slice(0, 100) : undefined);

export const Route = createFileRoute('/profile')({
  validateSearch: (raw: Record<string, unknown>): ProfileSearch => ({ did: text(raw.did), name: text(raw.name) }),
  component: ProfilePage,
});

function ProfilePage() {
  return <Profile {...Route.useSearch()} />;
}
