import { createRoot } from 'react-dom/client';
import { ConnectDialog } from './dialog';
import type { ConnectOptions } from './index';

/**
 * Calls `end` with the wallet's DID (undefined if the server sent none), or null if the user closed the dialog. Returns
 * a function that removes the dialog at once when the request has been settled elsewhere.
 */
export function mountDialog(options: ConnectOptions, end: (did?: string | null) => void): () => void {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  let ended = false;
  let isRemoved = false;
  let isSettled = false;
  const remove = () => {
    if (isRemoved) return;
    isRemoved = true;
    root.unmount();
    host.remove();
  };
  const finish = (did?: string | null) => {
    if (ended) return;
    ended = true;
    // Unmounts after the current render.
    setTimeout(() => {
      remove();
      end(did);
    });
  };
  root.render(<ConnectDialog options={options} onEnd={finish} isSettled={() => isSettled} />);
  return () => {
    isSettled = true;
    remove();
  };
}
