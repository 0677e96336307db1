/**
 * Tells screen readers what has changed, politely. An open dialog makes the rest of the page silent, so its own
 * region speaks while it is open.
 */
export function announce(text: string): void {
  const dialogs = document.querySelectorAll<HTMLElement>('dialog[open] [data-announcer]');
  const region = dialogs[dialogs.length - 1] ?? pageRegion();
  // The same sentence twice is only read twice when the text changes.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

function pageRegion(): HTMLElement {
  const known = document.getElementById('announcer');
  if (known) return known;
  const region = document.createElement('div');
  region.id = 'announcer';
  region.className = 'sr-only';
  region.setAttribute('role', 'status');
  document.body.append(region);
  return region;
}
