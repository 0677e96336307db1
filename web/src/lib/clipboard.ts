/** Copies a text and returns whether that worked. Plain http pages have no clipboard API and copy a selection. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => copySelection(text),
    );
  }
  return copySelection(text);
}

/** The textarea is added to the open dialog, because nothing outside of it can be selected. */
function copySelection(text: string): boolean {
  const previousFocus = document.activeElement;
  const dialogs = document.querySelectorAll('dialog[open]');
  const textarea = document.createElement('textarea');
  textarea.value = text;
  textarea.readOnly = true;
  textarea.setAttribute('aria-hidden', 'true');
  textarea.style.cssText = 'position:fixed;inset-block-start:0;opacity:0';
  (dialogs[dialogs.length - 1] ?? document.body).append(textarea);
  textarea.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    textarea.remove();
    if (previousFocus instanceof HTMLElement) previousFocus.focus();
  }
}
