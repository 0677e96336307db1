import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, Navigate } from '@tanstack/react-router';
import { Layout } from '@/app/layout';
import { ErrorFallback } from '@/app/states';

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Layout,
  notFoundComponent: () => <Navigate to="/" replace />,
  errorComponent: ErrorFallback,
});
