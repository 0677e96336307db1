/** What a page of the store asks for as soon as it stands; the queries of its features say the same in their own way. */
export function preloadPaths(path: string, search: string): string[] {
  const calls = ['/api/session'];
  const place = path.replace(/^\/payment(?=\/|$)/, '').replace(/(.)\/$/, '$1') || '/';
  if (/^\/(search|category\/[^/]+)?$/.test(place)) calls.push('/api/categories');
  if (place === '/' && !/[?&](keyword|price|sort|page)=/.test(search)) calls.push('/api/apps/shelves');
  const app = /^\/apps\/([^/]+)$/.exec(place)?.[1];
  if (app) calls.push(`/api/apps/${app}`);
  return calls;
}
