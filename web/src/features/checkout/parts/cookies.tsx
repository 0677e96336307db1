import { CookieBanner } from '@/app/cookie-banner';
import { t } from '../text';

/** The store's banner, for those who come to the checkout first. */
export default function Cookies() {
  return <CookieBanner t={t} />;
}
