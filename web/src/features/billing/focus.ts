/**
 * Moves the focus to the first of these elements that the page has, usually a heading: the button that was pressed is gone. A dialog that
 * closes gives the focus back in the next frame, so this waits for the one after it.
 */
export function focusAfterChange(...selectors: string[]): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      for (const selector of selectors) {
        const element = document.querySelector<HTMLElement>(selector);
        if (!element) continue;
        element.tabIndex = -1;
        element.focus();
        return;
      }
    }),
  );
}
