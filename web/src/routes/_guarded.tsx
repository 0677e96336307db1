import { createFileRoute, Outlet } from '@tanstack/react-router';
import { Appearance } from '@/app/appearance';
import { Guarded } from '@/app/guarded';

export const Route = createFileRoute('/_guarded')({ component: SignedIn });

/** Portal and console: here antd begins, which the store in front of them does without. */
function SignedIn() {
  return (
    <Guarded>
      <Appearance>
        <Outlet />
      </Appearance>
    </Guarded>
  );
}
