let pressed = false;

window.addEventListener(
  'pointerdown',
  () => {
    pressed = true;
  },
  true,
);
for (const end of ['pointerup', 'pointercancel']) {
  window.addEventListener(
    end,
    () => {
      pressed = false;
    },
    true,
  );
}

/**
 * Runs what may move the page when no button is being pressed: a field is left by pressing one, and an error that
 * appears at that moment would push the button away from under the pointer.
 */
export function whenReleased(run: () => void): void {
  if (!pressed) run();
  else window.addEventListener('pointerup', () => setTimeout(run), { once: true });
}
