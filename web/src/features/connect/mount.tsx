import { createRoot } from 'react-dom/client';
import { ConnectDialog } from './dialog';
import type { ConnectOptions } from './index';

/** `end` gets the wallet's DID (or nothing, when the server named none), null when it was closed. */
export function mountDialog(options: ConnectOptions, end: (did?: string | null) => void): void {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  let ended = false;
  const finish = (did?: string | null) => {
    if (ended) return;
    ended = true;
    // The root may be rendering right now; it is taken down afterwards.
    setTimeout(() => {
      root.unmount();
      host.remove();
      end(did);
    });
  };
  root.render(<ConnectDialog options={options} onEnd={finish} />);
}
