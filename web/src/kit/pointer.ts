let pressed = false;

window.addEventListener(
  'pointerdown',
  () => {
    pressed = true;
  },
  true,
);
for (const type of ['pointerup', 'pointercancel']) {
  window.addEventListener(
    type,
    () => {
      pressed = false;
    },
    true,
  );
}

/**
 * Runs a callback once no button is pressed. Pressing a button blurs a field, and an error shown at that moment would
 * move the button away from the pointer.
 */
export function afterPointerUp(run: () => void): void {
  if (!pressed) run();
  else window.addEventListener('pointerup', () => setTimeout(run), { once: true });
}
