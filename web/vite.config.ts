import { readFileSync } from 'node:fs';
import { fileURLToPath, URL } from 'node:url';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { firstLoad } from './scripts/first-load.mjs';
import { precompress } from './scripts/precompress.mjs';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** `/checkout/pay/plink_…` and `/sandbox/wallet` are separate pages; everything else is the store. */
function pageOf(url: string): string {
  if (/^(\/payment)?\/checkout\//.test(url)) return '/checkout.html';
  if (/^(\/payment)?\/sandbox\/wallet(\?|$)/.test(url)) return '/wallet.html';
  return '/index.html';
}

/** Serves the pages at the same paths as the Rust server. */
function pages(): Plugin {
  const rewrite = (req: { url?: string; headers: Record<string, unknown> }, _res: unknown, next: () => void) => {
    const path = (req.url ?? '/').split('?')[0] ?? '/';
    const wantsPage = String(req.headers.accept ?? '').includes('text/html');
    if (wantsPage && !path.includes('.') && !/^\/(api|\.well-known|@|sandbox\/(arcblock|stripe))/.test(path)) {
      const query = req.url?.includes('?') ? req.url.slice(req.url.indexOf('?')) : '';
      req.url = pageOf(path) + query;
    }
    next();
  };
  return {
    name: 'souk-pages',
    configureServer: (server) => void server.middlewares.use(rewrite),
    configurePreviewServer: (server) => void server.middlewares.use(rewrite),
  };
}

const backend = process.env.SOUK_URL ?? 'http://127.0.0.1:8080';
const proxy = Object.fromEntries(
  ['/api', '/.well-known', '/__blocklet__.js', '/sandbox/arcblock', '/sandbox/stripe', '/assets-demo'].map((path) => [
    path,
    { target: backend, ws: path === '/.well-known' },
  ]),
);

/** Routes that are part of the first load. */
const LISTINGS = new Set(['/', '/search', '/category/$category']);

/** Chunks shared by most pages: few files, because a round trip on a phone costs as much as 30 kB. */
const REACT = /node_modules\/(react|react-dom|scheduler)\//;
const ROUTER = /node_modules\/(@tanstack|use-sync-external-store|seroval)\//;
/** The pages of customers, developers and the console need most of it. */
const ANTD = /node_modules\/(antd|@ant-design|@rc-component|dayjs|@babel)\//;
const SHARED =
  /preload-helper|rolldown.runtime|\/src\/(api|kit|lib|i18n\/(light|translate|price|\w+\/(common|price)))\b/;

export default defineConfig({
  plugins: [
    pages(),
    tanstackRouter({
      target: 'react',
      autoCodeSplitting: true,
      // Most visitors open these routes, so they are not split off.
      codeSplittingOptions: {
        splitBehavior: ({ routeId }) => (LISTINGS.has(routeId) ? [] : undefined),
      },
      routesDirectory: 'src/routes',
      generatedRouteTree: 'src/routeTree.gen.ts',
    }),
    react(),
    firstLoad(),
    precompress(),
  ],
  resolve: { alias: { '@': at('./src') } },
  // The wallet libraries of the sandbox page need Node's `global`. That page's chunk also shims Buffer and process.
  define: {
    global: 'globalThis',
    __APP_VERSION__: JSON.stringify(JSON.parse(readFileSync(at('./package.json'), 'utf8')).version),
  },
  build: {
    target: 'es2022',
    manifest: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // Only the sandbox wallet's chunk is this large. scripts/sizes.mjs has the budgets of first loads.
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      // google-protobuf in that chunk uses `eval`, which the CSP of its page allows.
      checks: { eval: false },
      output: {
        codeSplitting: {
          // Few files, because a round trip on a phone costs as much as 30 kB.
          includeDependenciesRecursively: false,
          groups: [
            { name: 'react', test: REACT },
            { name: 'router', test: ROUTER },
            { name: 'antd', test: ANTD },
            // Code that both entries load at once.
            { name: 'shared', test: SHARED, minShareCount: 2 },
          ],
        },
      },
      input: { index: at('./index.html'), checkout: at('./checkout.html'), wallet: at('./wallet.html') },
    },
  },
  server: { host: '127.0.0.1', proxy },
  preview: { host: '127.0.0.1', proxy },
  test: {
    // A browser's environment takes longer to set up than most tests run, so only tests of components have one, and files that say so.
    projects: [
      { extends: true, test: { name: 'rules', environment: 'node', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'components',
          environment: 'happy-dom',
          include: ['src/**/*.test.tsx'],
          setupFiles: ['src/testing/setup.ts'],
        },
      },
    ],
  },
} as Parameters<typeof defineConfig>[0]);
