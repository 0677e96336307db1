import { expect, it } from 'vitest';
import { ownReferer } from './referer';

const HERE = 'https://shop.example';

it.each([
  ['/checkout/pay/cs_1?currencyId=pc_1#form', '/checkout/pay/cs_1?currencyId=pc_1#form'],
  ['https://shop.example/apps/z8', '/apps/z8'],
  ['https://evil.example/apps/z8', undefined],
  ['//evil.example/apps', undefined],
  ['/\\evil.example', undefined],
  ['javascript:alert(1)', undefined],
  ['https://', undefined],
  [undefined, undefined],
])('%s leads back to %s', (referer, back) => {
  expect(ownReferer(referer, HERE)).toBe(back);
});
