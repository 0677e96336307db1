import { QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { mountPrefix } from '@/api/client';
import { queryClient } from '@/app/queries';
import { parseSearch, stringifySearch } from '@/app/search-params';
import { report, startTracking } from '@/app/tracking';
import { routeTree } from '@/routeTree.gen';
import '@/kit/kit.css';

const router = createRouter({
  routeTree,
  basepath: mountPrefix() || '/',
  context: { queryClient },
  defaultPreload: 'intent',
  // Freshness is the query cache's business alone.
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

// A store that cannot say where to report is still a store.
void startTracking().catch(() => undefined);

const root = document.getElementById('root');
/** The server writes the content of the store's own pages into them; signed-in pages begin with a skeleton. */
const isSignedInPage = /^\/(customer|console|profile|claim-owner)(\/|$)/.test(
  window.location.pathname.slice(mountPrefix().length),
);

// What the server wrote into the page stays until the first screen replaces it.
void (isSignedInPage ? Promise.resolve() : router.load()).finally(() => {
  if (!root) return;
  createRoot(root, { onCaughtError: (error) => void report(error).catch(() => undefined) }).render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
});
