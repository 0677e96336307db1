import { createFileRoute, Outlet } from '@tanstack/react-router';
import { Guarded } from '@/app/guarded';

export const Route = createFileRoute('/_guarded')({ component: SignedIn });

function SignedIn() {
  return (
    <Guarded>
      <Outlet />
    </Guarded>
  );
}
