import { expect, it } from 'vitest';
import { ownReferer } from './referer';

const HERE = 'https://shop.example';

it.each([
  ['/checkout/pay/cs_1?currencyId=pc_1#form', 'https://shop.example/checkout/pay/cs_1?currencyId=pc_1#form'],
  ['https://shop.example/apps/z8', 'https://shop.example/apps/z8'],
  ['/apps?of=u#top', 'https://shop.example/apps?of=u#top'],
  ['https://evil.example/apps/z8', undefined],
  ['//evil.example/apps', undefined],
  ['/\\evil.example', undefined],
  ['javascript:alert(1)', undefined],
  ['https://', undefined],
  [undefined, undefined],
])('%s returns to %s', (referer, back) => {
  expect(ownReferer(referer, HERE)).toBe(back);
});

it.each([
  'https://shop.example//evil.example/x',
  'https://shop.example/\\evil.example/x',
  'https://shop.example/.//evil.example/x',
  '/.//evil.example/x',
])('%s does not return to another host', (referer) => {
  const back = ownReferer(referer, HERE);
  expect(back && new URL(back, HERE).origin).toBe(HERE);
});
