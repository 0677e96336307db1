import { translator } from '@/i18n/light';
import { toast } from '@/kit/toast';

export interface ConnectOptions {
  /** The connect action: `login`, `payment`, … */
  action: string;
  /** The API path of the actions, below the mount prefix. */
  prefix?: string;
  extraParams?: Record<string, string>;
  title?: string;
  /** The title of the dialog after a rejection. */
  failedTitle?: string;
  /** Called when the wallet has finished; the session cookie of `login` is set by then. */
  onSuccess: (result: { did?: string }) => void;
  /** Called on each error; the dialog shows it and offers a retry. */
  onError?: (message: string | undefined) => void;
  /** Called when the dialog closes without success, or could not load. */
  onClose?: () => void;
}

/** Common texts only; the dialog loads its own. */
const t = translator({ en: {}, zh: {} });

let isOpen = false;

/**
 * Opens the wallet dialog on any page. It mounts its own React root; only one can be open. The returned function closes
 * the dialog at once and without a callback, for a page that learned the outcome elsewhere.
 */
export function openConnect(options: ConnectOptions): () => void {
  if (isOpen) return () => undefined;
  isOpen = true;
  let ended = false;
  let remove: (() => void) | undefined;
  const end = (report?: () => void) => {
    if (ended) return;
    ended = true;
    isOpen = false;
    report?.();
  };
  import('./mount').then(
    ({ mountDialog }) => {
      if (ended) return;
      remove = mountDialog(options, (did) =>
        end(() => (did === null ? options.onClose?.() : options.onSuccess({ did }))),
      );
    },
    () =>
      end(() => {
        toast(t('error.500'));
        options.onClose?.();
      }),
  );
  return () => {
    end();
    remove?.();
  };
}
