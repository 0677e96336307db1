import { createRoot } from 'react-dom/client';
import '@/kit/kit.css';
import { WalletPage } from './page';

const root = document.getElementById('root');
if (root) createRoot(root).render(<WalletPage />);
