import { QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { mountPrefix } from '@/api/client';
import { queryClient } from '@/app/queries';
import { parseSearch, stringifySearch } from '@/app/search-params';
import { sendErrorReport, startTracking } from '@/app/tracking';
import { routeTree } from '@/routeTree.gen';
import '@/kit/kit.css';

const router = createRouter({
  routeTree,
  basepath: mountPrefix() || '/',
  context: { queryClient },
  defaultPreload: 'intent',
  // The query cache alone decides what is stale.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

// The page works without tracking.
void startTracking().catch(() => undefined);

const root = document.getElementById('root');
/** The server prerenders store pages. Signed-in pages start with a skeleton. */
const isSignedInPage =
  /^\/(customer|console|developer|profile|claim-owner|confirm-email|invitation|join|connect-cli|connect-studio|gen-key-pair|login-cli)(\/|$)/.test(
    window.location.pathname.slice(mountPrefix().length),
  );

// Keeps the prerendered content until the first screen is ready.
void (isSignedInPage ? Promise.resolve() : router.load()).finally(() => {
  if (!root) return;
  createRoot(root, { onCaughtError: (error) => void sendErrorReport(error).catch(() => undefined) }).render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
});
