import type { Subscription } from '@/api/types';
import type { Texts } from './texts';

/** What a subscription is called: its own description, else its first product, by its Chinese name where it has one. */
export function nameOf({ id, description, items }: Subscription, { language }: Pick<Texts, 'language'>): string {
  const product = items[0]?.price.product;
  const own = description && description !== product?.name ? description : '';
  return own || (language === 'zh' && product?.metadata?.name_zh) || product?.name || id;
}
