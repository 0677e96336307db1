/**
 * Announces a change to screen readers, politely. An open dialog makes the rest of the page inert, so its own live
 * region is used.
 */
export function announce(text: string): void {
  const dialogs = document.querySelectorAll<HTMLElement>('dialog[open] [data-announcer]');
  const region = dialogs[dialogs.length - 1] ?? pageRegion();
  // Screen readers ignore unchanged text.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

function pageRegion(): HTMLElement {
  const existing = document.getElementById('announcer');
  if (existing) return existing;
  const region = document.createElement('div');
  region.id = 'announcer';
  region.className = 'sr-only';
  region.setAttribute('role', 'status');
  document.body.append(region);
  return region;
}
