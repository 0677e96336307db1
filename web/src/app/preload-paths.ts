/** The API paths that a store page requests first. Keep them in sync with the queries of the features. */
export function preloadPaths(path: string, search: string): string[] {
  const paths = ['/api/session'];
  const page = path.replace(/^\/payment(?=\/|$)/, '').replace(/(.)\/$/, '$1') || '/';
  if (/^\/(search|category\/[^/]+)?$/.test(page)) paths.push('/api/categories');
  if (page === '/' && !/[?&](keyword|price|sort|page)=/.test(search)) paths.push('/api/apps/shelves');
  const app = /^\/apps\/([^/]+)$/.exec(page)?.[1];
  if (app) paths.push(`/api/apps/${app}`);
  return paths;
}
