import { tellHost } from '../broadcast';

/** Parts that are as high as what they hold; a dialog may need more than the page below it. */
const PARTS =
  '.checkout-form-inner, .checkout-summary-inner, .checkout-notice, .checkout-completed, dialog[open] .k-dialog-body';
/** What a dialog leaves free around itself. */
const AROUND_DIALOG = 26;

function neededHeight(page: HTMLElement): number {
  // The page fills the frame: how high it would be by itself shows only without that.
  page.style.minHeight = '0';
  const own = page.offsetHeight;
  page.style.minHeight = '';
  const dialogs = [...document.querySelectorAll('dialog[open] .k-dialog-body')];
  return Math.max(own, ...dialogs.map((it) => it.scrollHeight + AROUND_DIALOG));
}

/** Posts `height` (CSS px) to the page around this one, now and whenever it changes, so that it can size the frame. */
export function tellHeight(): void {
  let told = 0;
  const tell = () => {
    const page = document.querySelector<HTMLElement>('.checkout');
    const height = page ? neededHeight(page) : 0;
    if (height === 0 || height === told) return;
    told = height;
    tellHost('height', { height });
  };
  const sizes = new ResizeObserver(tell);
  const watch = () => {
    sizes.disconnect();
    for (const part of document.querySelectorAll(PARTS)) sizes.observe(part);
    tell();
  };
  new MutationObserver(watch).observe(document.body, { childList: true, subtree: true });
  watch();
}
