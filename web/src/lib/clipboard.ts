/** Copies a text; pages on plain http have no clipboard and copy a selection. Whether it worked. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => copySelected(text),
    );
  }
  return copySelected(text);
}

/** Inside the dialog that is open, outside of which nothing can be selected. */
function copySelected(text: string): boolean {
  const before = document.activeElement;
  const open = document.querySelectorAll('dialog[open]');
  const box = document.createElement('textarea');
  box.value = text;
  box.readOnly = true;
  box.setAttribute('aria-hidden', 'true');
  box.style.cssText = 'position:fixed;inset-block-start:0;opacity:0';
  (open[open.length - 1] ?? document.body).append(box);
  box.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    box.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
