/** The release and the identifiers of the pre-release of a semantic version, without build metadata. */
function partsOf(version: string): { release: number[]; pre: string[] } {
  const [core = ''] = version.split('+');
  const dash = core.indexOf('-');
  const release = (dash < 0 ? core : core.slice(0, dash)).split('.').map(Number);
  return { release, pre: dash < 0 ? [] : core.slice(dash + 1).split('.') };
}

function comparePart(a: string, b: string): number {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA && isNumberB) return Number(a) - Number(b);
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

export const isPreRelease = (version: string): boolean => partsOf(version).pre.length > 0;

/** The precedence of two semantic versions (semver.org 2.0.0, 11): above zero if the first one is higher. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [partsOf(a), partsOf(b)];
  for (let place = 0; place < 3; place += 1) {
    const difference = (first.release[place] ?? 0) - (second.release[place] ?? 0);
    if (difference !== 0) return difference;
  }
  // A pre-release is lower than its release.
  if (first.pre.length === 0 || second.pre.length === 0) return second.pre.length - first.pre.length;
  for (let place = 0; place < Math.min(first.pre.length, second.pre.length); place += 1) {
    const difference = comparePart(first.pre[place] ?? '', second.pre[place] ?? '');
    if (difference !== 0) return difference;
  }
  return first.pre.length - second.pre.length;
}
