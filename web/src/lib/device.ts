/** The browsers by the part of `User-Agent` that names them; others contain the names of later ones. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

export interface Device {
  browser: string;
  system: string;
}

/** The browser and the system that a `User-Agent` names; undefined if one of them is unknown. */
export function deviceOf(userAgent: string): Device | undefined {
  const browser = BROWSERS.find(([part]) => userAgent.includes(`${part}/`))?.[1];
  const system = SYSTEMS.find(([part]) => userAgent.includes(part))?.[1];
  return browser && system ? { browser, system } : undefined;
}
