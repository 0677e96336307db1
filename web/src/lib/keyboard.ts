/** A smaller difference is a browser toolbar that shows and hides. */
const MIN_KEYBOARD_PX = 100;

/**
 * Sets `--keyboard` to the height of the on-screen keyboard, which covers the page without resizing it. Sticky elements
 * and scroll padding use it.
 */
export function trackKeyboard(): void {
  const view = window.visualViewport;
  if (!view) return;
  const page = document.documentElement;
  const update = () => {
    const covered = Math.round(page.clientHeight - view.height - view.offsetTop);
    // A zoomed page also has a smaller viewport.
    const keyboard = view.scale === 1 && covered >= MIN_KEYBOARD_PX ? covered : 0;
    page.style.setProperty('--keyboard', `${keyboard}px`);
  };
  view.addEventListener('resize', update);
  view.addEventListener('scroll', update);
}
