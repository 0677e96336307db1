import { describe, expect, test } from 'vitest';
import { readFields, textOf } from './protobuf';
import { parseRequestUrl } from './request';
import { methodName, noteOf, parseTransaction, totals } from './transaction';

const AUTH = 'http://127.0.0.1:8080/api/did/payment/auth?_t_=96f5e8bf';
const twice = encodeURIComponent(encodeURIComponent(AUTH));
const address = (text: string) => parseRequestUrl(text, 'http://127.0.0.1:8080');

describe('the URL of a request', () => {
  test.each([
    ['as it is', AUTH],
    ['encoded', encodeURIComponent(AUTH)],
    ['in a deep link, encoded twice', `https://abtwallet.io/i/?action=requestAuth&url=${twice}`],
    ['in a link of the previous wallet app', `https://didwallet.io/i/?action=requestAuth&url=${twice}`],
    ['with spaces around it', `  ${AUTH}\n`],
  ])('is found %s', (_, text) => {
    expect(address(text)).toBe(AUTH);
  });

  test.each([
    ['another page', 'https://example.com/'],
    ['a request without a token', 'http://127.0.0.1:8080/api/did/payment/auth'],
    ['a script', 'javascript:alert(1)//api/did/x/auth?_t_=1'],
    ['nothing', ''],
    ['broken encoding', 'http%3A%2F%2F%ZZ'],
  ])('is not %s', (_, text) => {
    expect(address(text)).toBeNull();
  });
});

describe('a transaction', () => {
  // The protobuf vector of did-connect.md 1.2 is a transfer_v2; the outer message has type and value.
  const vector =
    '0a237a31653167744d764c7a44616f45333158327259734d465a48447663366d715a57594d1080d095ffbc311a046265746122208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c32247a4e4b6b4a6666776251385236505a5a4b6544666d7732526934686135746d72546342427aa7010a1066673a743a7472616e736665725f76321292010a2a30783161363432663045336333614635343545374163424433386230373235314233393930393134463112030a0100223c0a257a33356e3631725a466331645250386674377475553267556879774e7037715a48725865691213313030303030303030303030303030303030307a210a046a736f6e12197b22726561736f6e223a22737562736372697074696f6e227d8a010130';
  const bytes = Uint8Array.from(vector.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

  test('is parsed by field numbers', () => {
    const fields = readFields(bytes);
    expect(textOf(fields, 1)).toBe('z1e1gtMvLzDaoE31X2rYsMFZHDvc6mqZWYM');
    expect(textOf(fields, 3)).toBe('beta');
    expect(fields.get(2)?.[0]).toBe(1_700_000_000_000n);
  });

  test('that ends early throws', () => {
    expect(() => readFields(bytes.slice(0, 20))).toThrow();
  });

  test('has its recipients, amounts and note', () => {
    const utf8 = (text: string) => [...new TextEncoder().encode(text)];
    const field = (n: number, body: number[]) => [(n << 3) | 2, body.length, ...body];
    const token = [...field(1, utf8('zToken')), ...field(2, utf8('5'))];
    const output = [...field(1, utf8('zShop')), ...field(2, token)];
    const data = [...field(1, utf8('json')), ...field(2, utf8('{"checkoutSessionId":"cs_1"}'))];
    const parsed = parseTransaction('fg:t:transfer_v3', Uint8Array.from([...field(2, output), ...field(15, data)]));
    expect(parsed).toMatchObject({
      kind: 'transfer',
      inputs: [],
      outputs: [{ owner: 'zShop', tokens: [{ address: 'zToken', value: '5' }], assets: [] }],
    });
    expect('data' in parsed && noteOf(parsed.data)).toEqual({ checkoutSessionId: 'cs_1' });
  });

  /** The inner messages of test vectors that the server's tests also use: its requests for a subscription. */
  const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const MANDATE =
    'CiV6MmJNd29lQVA1Um81WWNZTTdLUUtZdW00RFdYZlhMUnVWeW5zEiR6Tktic01kbVZpRGZEaGZ1OGpMaU5KR3d4bVhRZzZzRnhVSGQazAEKEGZnOnQ6dHJhbnNmZXJfdjIatwEKYwolejM1bjYxclpGYzFkUlA4ZnQ3dHVVMmdVaHl3TnA3cVpIclhlaRIkek5LYnNNZG1WaURmRGhmdThqTGlOSkd3eG1YUWc2c0Z4VUhkIhQxMDAwMDAwMDAwMDAwMDAwMDAwMApQCiV6MzVuRHlSZWFVcVRqeEZKR1JvUzE5V1VYa0FLcFBjUWMzWHEyEiR6Tktic01kbVZpRGZEaGZ1OGpMaU5KR3d4bVhRZzZzRnhVSGQiATV6HAoEanNvbhIUeyJyZWZlcmVuY2UiOiJjc18xIn0=';
  const DEPOSIT =
    'CiR6cmppWWthQVdIVWg3ZGZIWVZoN0t4Rkt1eXV5czFjTU5EUXESJHpOS2JzTWRtVmlEZkRoZnU4akxpTkpHd3htWFFnNnNGeFVIZCoHZGVwb3NpdDCAowU6JHpOS2JzTWRtVmlEZkRoZnU4akxpTkpHd3htWFFnNnNGeFVIZEIFc3ViXzGSAxwKBGpzb24SFHsicmVmZXJlbmNlIjoiY3NfMSJ9';
  const APP = 'zNKbsMdmViDfDhfu8jLiNJGwxmXQg6sFxUHd';

  test('has the limits of a delegation', () => {
    expect(parseTransaction('fg:t:delegate', bytesOf(MANDATE))).toEqual({
      kind: 'delegate',
      to: APP,
      allowances: [
        { address: 'z35n61rZFc1dRP8ft7tuU2gUhywNp7qZHrXei', value: '10000000000000000000' },
        { address: 'z35nDyReaUqTjxFJGRoS19WUXkAKpPcQc3Xq2', value: '5' },
      ],
      unlimited: false,
      others: [],
    });
  });

  test('shows if a delegation has no limit, or allows more than payments', () => {
    const utf8 = (text: string) => [...new TextEncoder().encode(text)];
    const field = (n: number, body: number[]) => [(n << 3) | 2, body.length, ...body];
    const limit = (allowance: string) => field(3, field(1, [...field(1, utf8('zT')), ...field(4, utf8(allowance))]));
    const op = (type: string, inside: number[] = []) => field(3, [...field(1, utf8(type)), ...inside]);
    const parse = (...ops: number[][]) => parseTransaction('fg:t:delegate', Uint8Array.from(ops.flat()));
    expect(parse(op('fg:t:transfer_v2'))).toMatchObject({ unlimited: true, allowances: [] });
    expect(parse(op('fg:t:transfer_v2', limit('0')))).toMatchObject({ unlimited: true, allowances: [] });
    expect(parse(op('fg:t:transfer_v2', limit('7')), op('fg:t:stake'))).toMatchObject({
      unlimited: false,
      allowances: [{ address: 'zT', value: '7' }],
      others: ['fg:t:stake'],
    });
  });

  test('has the waiting period and the slashers of a deposit', () => {
    expect(parseTransaction('fg:t:stake', bytesOf(DEPOSIT))).toMatchObject({
      kind: 'stake',
      receiver: APP,
      slashers: [APP],
      revokeWaitingPeriod: 86_400,
      locked: false,
      nonce: 'sub_1',
    });
  });

  test('has total amounts and the method names of the library', () => {
    const sum = totals([[{ address: 'a', value: '9007199254740993' }], [{ address: 'a', value: '1' }]]);
    expect(sum).toEqual([{ address: 'a', value: '9007199254740994' }]);
    expect(methodName('fg:t:transfer_v3')).toBe('TransferV3Tx');
    expect(methodName('fg:t:stake')).toBe('StakeTx');
  });
});
