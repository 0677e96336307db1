import { screen } from '@testing-library/react';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Dialog } from './dialog';

// Without act(), committed DOM is visible before passive effects run, as in a browser.
beforeEach(() => void vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', false));
afterEach(() => void vi.unstubAllGlobals());

test('Esc works as soon as the close button is enabled', async () => {
  const closed = vi.fn();
  const container = document.body.appendChild(document.createElement('div'));
  const root = createRoot(container);
  const show = (locked: boolean) =>
    root.render(
      <Dialog title="Pay" closeLabel="Close" onClose={closed} locked={locked}>
        <p>10 USD</p>
      </Dialog>,
    );
  show(true);
  const close = await screen.findByRole('button', { name: 'Close' });
  const unlocked = new Promise<void>((resolve) => {
    const observer = new MutationObserver(() => resolve());
    observer.observe(close, { attributeFilter: ['disabled'] });
  });
  show(false);
  await unlocked;
  document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
  expect(closed).toHaveBeenCalledTimes(1);
  root.unmount();
  container.remove();
});
