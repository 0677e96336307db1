import { Alert, type AlertProps, Modal } from 'antd';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Subscription } from '@/api/types';
import { usePhone } from '@/lib/use-phone';
import styles from './dialog.module.css';
import { type Key, useTexts } from './texts';

/** The properties of every dialog about a subscription. */
export interface SubscriptionDialogProps {
  subscription: Subscription;
  onClose: () => void;
  /** Called after the change: the page reloads its data and shows a message, by default the one of the action. */
  onDone: (message?: Key) => void;
}

interface DialogProps {
  title: string;
  children: ReactNode;
  /** The buttons at the end. */
  footer: ReactNode;
  /** A request is pending: the dialog cannot be closed. */
  isBusy?: boolean;
  onClose: () => void;
}

/** The wallet's and the card's dialogs are native ones, which the browser draws above everything else. */
const isBehindAnother = () => document.querySelector('dialog[open]') !== null;

/** What had the focus before the latest dialog. */
let latestTrigger: Element | null = null;

/** What gets the focus after a dialog; the second one if the first has left the page. */
function triggersOf(active: Element | null): (Element | null)[] {
  const triggers = [active, active?.closest('[role="dialog"]') ? latestTrigger : null];
  latestTrigger = triggers[1] ?? active;
  return triggers;
}

/**
 * A modal dialog that is open as long as it is rendered. The focus returns to the element that had it before, or, if this dialog has
 * followed another one, to the element that had it before that.
 */
export function Dialog({ title, children, footer, isBusy = false, onClose }: DialogProps) {
  const { t } = useTexts();
  const [triggers] = useState(() => triggersOf(document.activeElement));
  // A dialog above this one handles Escape first and may be gone when the key arrives here.
  const wasBehind = useRef(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') wasBehind.current = isBehindAnother();
    };
    window.addEventListener('keydown', onKeyDown, true);
    return () => window.removeEventListener('keydown', onKeyDown, true);
  }, []);
  useEffect(
    () => () => {
      // After the dialog has left the page; a page that focuses something else meanwhile keeps it there.
      requestAnimationFrame(() => {
        const trigger = triggers.find((element) => element?.isConnected);
        if (trigger instanceof HTMLElement && document.activeElement === document.body) trigger.focus();
      });
    },
    [triggers],
  );
  return (
    <Modal
      open
      centered
      width={600}
      title={title}
      // Keeps the title clear of the close button.
      styles={{ header: { marginBottom: 16, paddingInlineEnd: 32 } }}
      classNames={{ footer: styles.footer }}
      footer={footer}
      closable={isBusy ? false : { 'aria-label': t('action.close') }}
      keyboard={!isBusy}
      mask={{ closable: false }}
      focusable={{ trap: !isBusy, focusTriggerAfterClose: false }}
      onCancel={(event) => {
        const isKey = 'key' in event;
        if (!(isKey && wasBehind.current) && !isBehindAnother()) onClose();
      }}
    >
      {children}
    </Modal>
  );
}

/** A request error. It takes the focus, so that it is visible and announced. */
export function ErrorAlert({ title, text }: { title: string; text: string }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    ref.current?.focus({ preventScroll: true });
    ref.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <div ref={ref} tabIndex={-1} role="alert">
      <Alert type="error" showIcon role="presentation" title={title} description={text} />
    </div>
  );
}

/** A notice that is part of the page and therefore not announced. On a phone its button is below the text. */
export function Note({ action, description, ...rest }: AlertProps) {
  const phone = usePhone();
  if (!phone || !action) return <Alert showIcon role="note" description={description} action={action} {...rest} />;
  return (
    <Alert
      showIcon
      role="note"
      description={
        <div className={styles.body}>
          {description}
          <div>{action}</div>
        </div>
      }
      {...rest}
    />
  );
}
