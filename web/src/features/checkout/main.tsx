import { createRoot } from 'react-dom/client';
import '@/kit/kit.css';
import { CheckoutPage } from './page';

const root = document.getElementById('root');
if (root) createRoot(root).render(<CheckoutPage />);
