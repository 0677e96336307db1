import { type KeyboardEvent, useRef, useState } from 'react';
import type { AppDetail } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { Close } from '@/kit/icons';
import { ChevronLeft, ChevronRight } from '@/kit/store-icons';
import styles from './screenshots.module.css';

/** A row of pictures; each opens large in a modal dialog, where the arrow keys turn. */
export function Screenshots({ shots }: { shots: AppDetail['screenshots'] }) {
  const { t, text } = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const [index, setIndex] = useState(0);
  if (shots.length === 0) return null;

  const open = (place: number) => {
    setIndex(place);
    dialog.current?.showModal();
  };
  const turn = (by: number) => setIndex((now) => Math.min(shots.length - 1, Math.max(0, now + by)));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') turn(-1);
    if (event.key === 'ArrowRight') turn(1);
  };
  const shown = shots[index];

  return (
    <section aria-labelledby="screenshots">
      <h2 id="screenshots" className="sr-only">
        {t('app.screenshots')}
      </h2>
      <ul className={styles.row}>
        {shots.map((shot, place) => (
          <li key={shot.url}>
            <button
              type="button"
              onClick={() => open(place)}
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
      {/* The dialog closes on Esc and gives the focus back by itself. */}
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
                  onClick={() => turn(-1)}
                  aria-label={t('app.previousScreenshot')}
                >
                  <ChevronLeft />
                </button>
                <button
                  type="button"
                  disabled={index === shots.length - 1}
                  onClick={() => turn(1)}
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
