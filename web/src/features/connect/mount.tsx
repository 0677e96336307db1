import { createRoot } from 'react-dom/client';
import { ConnectDialog } from './dialog';
import type { ConnectOptions } from './index';

/** Calls `end` with the wallet's DID (undefined if the server sent none), or null if the user closed the dialog. */
export function mountDialog(options: ConnectOptions, end: (did?: string | null) => void): void {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  let ended = false;
  const finish = (did?: string | null) => {
    if (ended) return;
    ended = true;
    // Unmounts after the current render.
    setTimeout(() => {
      root.unmount();
      host.remove();
      end(did);
    });
  };
  root.render(<ConnectDialog options={options} onEnd={finish} />);
}
