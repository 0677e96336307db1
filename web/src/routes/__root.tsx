import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, Navigate } from '@tanstack/react-router';
import { Fault } from '@/app/notice';
import { Shell } from '@/app/shell';

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Shell,
  notFoundComponent: () => <Navigate to="/" replace />,
  errorComponent: Fault,
});
