import { createRoot } from 'react-dom/client';
import { pageView, sendErrorReport } from '@/app/tracking';
import '@/kit/kit.css';
import { CheckoutPage } from './page';

const onError = (error: unknown) => void sendErrorReport(error).catch(() => undefined);
window.addEventListener('error', (event) => onError(event.error ?? event.message));
window.addEventListener('unhandledrejection', (event) => onError(event.reason));

// Order ids stay out of analytics, and the analytics script is not loaded here.
pageView('/checkout/pay');

if (window.matchMedia('(max-width: 767px), (pointer: coarse)').matches)
  void import('@/lib/keyboard').then(({ trackKeyboard }) => trackKeyboard()).catch(onError);

const root = document.getElementById('root');
if (root) createRoot(root, { onCaughtError: onError }).render(<CheckoutPage />);
