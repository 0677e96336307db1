/** Less than this is a browser's own bar that comes and goes. */
const LEAST_PX = 100;

/**
 * A telephone's keyboard covers the foot of the page without making the page smaller: how much of it, in `--keyboard`,
 * for what sticks there and for where a focused field may come to rest.
 */
export function followKeyboard(): void {
  const view = window.visualViewport;
  if (!view) return;
  const page = document.documentElement;
  const tell = () => {
    const covered = Math.round(page.clientHeight - view.height - view.offsetTop);
    // Whoever has zoomed in sees less of the page as well.
    const keyboard = view.scale === 1 && covered >= LEAST_PX ? covered : 0;
    page.style.setProperty('--keyboard', `${keyboard}px`);
  };
  view.addEventListener('resize', tell);
  view.addEventListener('scroll', tell);
}
