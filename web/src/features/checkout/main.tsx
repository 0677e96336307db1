import { createRoot } from 'react-dom/client';
import { pageView, sendErrorReport } from '@/app/tracking';
import '@/kit/kit.css';
import { CheckoutPage } from './page';

const told = (error: unknown) => void sendErrorReport(error).catch(() => undefined);
window.addEventListener('error', (event) => told(event.error ?? event.message));
window.addEventListener('unhandledrejection', (event) => told(event.reason));

// The id of an order is nobody's business but the buyer's; the store's own script stays out of this page as well.
pageView('/checkout/pay');

if (window.matchMedia('(max-width: 767px), (pointer: coarse)').matches)
  void import('@/lib/keyboard').then(({ trackKeyboard }) => trackKeyboard()).catch(told);

const root = document.getElementById('root');
if (root) createRoot(root, { onCaughtError: told }).render(<CheckoutPage />);
