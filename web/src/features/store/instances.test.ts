// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { instanceName } from './instances';

it.each([
  ['https://blog.example/', 'blog.example'],
  ['https://blog.example:8443/night/', 'blog.example:8443/night'],
  ['http://blog.example', 'blog.example'],
  ['javascript:alert(1)', undefined],
  ['https://', undefined],
  ['blog.example', undefined],
])('the instance %s is shown as %s', (address, name) => {
  expect(instanceName(address)).toBe(name);
});
