import { postToHost } from '../broadcast';

/** Elements whose height follows their content; an open dialog can be taller than the page. */
const CONTENT =
  '.checkout-form-inner, .checkout-summary-inner, .checkout-notice, .checkout-completed, dialog[open] .k-dialog-body';
/** Margin around a dialog. */
const DIALOG_MARGIN = 26;

function neededHeight(page: HTMLElement): number {
  // The page fills the iframe; its natural height is measurable only without the minimum height.
  page.style.minHeight = '0';
  const pageHeight = page.offsetHeight;
  page.style.minHeight = '';
  const dialogs = [...document.querySelectorAll('dialog[open] .k-dialog-body')];
  return Math.max(pageHeight, ...dialogs.map((dialog) => dialog.scrollHeight + DIALOG_MARGIN));
}

/** Posts `height` (CSS px) to the embedding page now and after each change, so that it can resize the iframe. */
export function reportHeight(): void {
  let lastHeight = 0;
  const post = () => {
    const page = document.querySelector<HTMLElement>('.checkout');
    const height = page ? neededHeight(page) : 0;
    if (height === 0 || height === lastHeight) return;
    lastHeight = height;
    postToHost('height', { height });
  };
  const resizeObserver = new ResizeObserver(post);
  const observe = () => {
    resizeObserver.disconnect();
    for (const element of document.querySelectorAll(CONTENT)) resizeObserver.observe(element);
    post();
  };
  new MutationObserver(observe).observe(document.body, { childList: true, subtree: true });
  observe();
}
