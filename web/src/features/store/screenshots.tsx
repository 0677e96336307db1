import { type KeyboardEvent, useRef, useState } from 'react';
import type { AppDetail } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { Close } from '@/kit/icons';
import { ChevronLeft, ChevronRight } from '@/kit/store-icons';
import styles from './screenshots.module.css';

/** A row of screenshots. Each opens in a modal dialog with arrow key navigation. */
export function Screenshots({ shots }: { shots: AppDetail['screenshots'] }) {
  const { t, text } = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const [index, setIndex] = useState(0);
  if (shots.length === 0) return null;

  const open = (position: number) => {
    setIndex(position);
    dialog.current?.showModal();
  };
  const move = (step: number) => setIndex((now) => Math.min(shots.length - 1, Math.max(0, now + step)));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') move(-1);
    if (event.key === 'ArrowRight') move(1);
  };
  const shown = shots[index];

  return (
    <section aria-labelledby="screenshots">
      <h2 id="screenshots" className="sr-only">
        {t('app.screenshots')}
      </h2>
      <ul className={styles.row}>
        {shots.map((shot, position) => (
          <li key={shot.url}>
            <button
              type="button"
              onClick={() => open(position)}
              aria-label={t('app.openScreenshot', { name: text(shot.alt) })}
            >
              <img
                src={shot.url}
                alt=""
                width={shot.width}
                height={shot.height}
                loading="lazy"
                style={{ aspectRatio: `${shot.width} / ${shot.height}` }}
              />
            </button>
          </li>
        ))}
      </ul>
      {/* The native dialog handles Esc and restores the focus. */}
      <dialog ref={dialog} className={styles.dialog} aria-label={t('app.screenshots')} onKeyDown={onKeyDown}>
        {shown ? (
          <figure>
            <img src={shown.url} alt={text(shown.alt)} width={shown.width} height={shown.height} />
            <figcaption>
              <span aria-live="polite">
                {t('app.screenshotOf', { index: index + 1, count: shots.length })}
                <span className={styles.caption}>{text(shown.alt)}</span>
              </span>
              <span className={styles.controls}>
                <button
                  type="button"
                  disabled={index === 0}
                  onClick={() => move(-1)}
                  aria-label={t('app.previousScreenshot')}
                >
                  <ChevronLeft />
                </button>
                <button
                  type="button"
                  disabled={index === shots.length - 1}
                  onClick={() => move(1)}
                  aria-label={t('app.nextScreenshot')}
                >
                  <ChevronRight />
                </button>
                <button type="button" onClick={() => dialog.current?.close()} aria-label={t('action.close')}>
                  <Close size="1em" />
                </button>
              </span>
            </figcaption>
          </figure>
        ) : null}
      </dialog>
    </section>
  );
}
