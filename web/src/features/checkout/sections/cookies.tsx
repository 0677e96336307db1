import { CookieBanner } from '@/app/cookie-banner';
import { t } from '../text';

/** The store's cookie banner, for visitors who start at the checkout. */
export default function Cookies() {
  return <CookieBanner t={t} />;
}
