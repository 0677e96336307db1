import { describe, expect, it } from 'vitest';
import { closesOnSuccess, toolSearch, toolToken } from './tool-link';

const TOKEN = '0123456789abcdef0123456789abcdef';
const STORE = 'https://souk.example';
const encode = (text: string) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

describe('the token of a tool', () => {
  it('is read from an address of the store, with or without padding', () => {
    const address = `${STORE}/connect-cli?_t_=${TOKEN}`;
    expect(toolToken(encode(address), [STORE])).toBe(TOKEN);
    expect(toolToken(btoa(address), [STORE])).toBe(TOKEN);
    expect(toolToken(encode(`${STORE}/payment/connect-cli?x=~?>&_t_=${TOKEN}`), [undefined, STORE])).toBe(TOKEN);
    expect(toolToken(encode(`http://127.0.0.1:8080/connect-cli?_t_=${TOKEN}`), ['http://localhost:8080'])).toBe(TOKEN);
  });

  it.each([
    undefined,
    '',
    'a',
    'no address',
    encode('no address'),
    encode(`https://evil.example/connect-cli?_t_=${TOKEN}`),
    encode(`https://souk.example.evil.example/connect-cli?_t_=${TOKEN}`),
    encode(`http://souk.example/connect-cli?_t_=${TOKEN}`),
    encode(`https://souk.example:8443/connect-cli?_t_=${TOKEN}`),
    encode(`javascript:alert(1)//?_t_=${TOKEN}`),
    encode(`${STORE}/connect-cli`),
    encode(`${STORE}/connect-cli?_t_=${TOKEN}0`),
    encode(`${STORE}/connect-cli?_t_=../../session`),
  ])('is not read from %s', (encoded) => {
    expect(toolToken(encoded, [STORE])).toBeNull();
  });
});

it('reads the parameters of tools and nothing else', () => {
  expect(toolSearch({ __connect_url__: 'abc', closeOnSuccess: '1', source: 'x', _t_: 'y' })).toEqual({
    __connect_url__: 'abc',
    closeOnSuccess: '1',
  });
  expect(toolSearch({ __connect_url__: ['a'] })).toEqual({ __connect_url__: undefined, closeOnSuccess: undefined });
  expect([undefined, '0', 'false', '1', 'true'].map(closesOnSuccess)).toEqual([false, false, false, true, true]);
});
