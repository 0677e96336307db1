import { translator } from '@/i18n/light';
import { toast } from '@/kit/toast';

export interface ConnectOptions {
  /** Connect action: `login`, `payment`, … */
  action: string;
  /** Where the actions live, below the mount prefix of the page. */
  prefix?: string;
  extraParams?: Record<string, string>;
  title?: string;
  /** What to call it when the wallet or the store refuses. */
  failedTitle?: string;
  /** The wallet has finished; on `login` the session cookie is set by then. */
  onSuccess: (result: { did?: string }) => void;
  /** What went wrong, each time it does; the dialog shows it and offers another try. */
  onError?: (message: string | undefined) => void;
  /** Closed without success, by the visitor or because the dialog could not be loaded. */
  onClose?: () => void;
}

/** The dialog brings its own words; until it is there the common ones must do. */
const t = translator({ en: {}, zh: {} });

let open = false;

/** Opens the wallet dialog over whatever page asks. One at a time; it mounts its own root, so every page can. */
export function openConnect(options: ConnectOptions): void {
  if (open) return;
  open = true;
  import('./mount').then(
    ({ mountDialog }) =>
      mountDialog(options, (did) => {
        open = false;
        if (did === null) options.onClose?.();
        else options.onSuccess({ did });
      }),
    () => {
      open = false;
      toast(t('error.500'));
      options.onClose?.();
    },
  );
}
