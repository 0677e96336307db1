import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import en from './en/error-messages.json';
import { codeMessage, declineText, translateMessage } from './error-messages';
import { textFor } from './light';
import zh from './zh/error-messages.json';

const root = join(import.meta.dirname, '../../..');

/** Sources whose messages no page shows, because they are for integrators and logs only. */
const HIDDEN_SOURCES: [path: string, why: string][] = [
  ['crates/domain/src/payment/method_admin.rs', 'payment methods are managed with an API key'],
  ['crates/domain/src/pricing/manage.rs', 'products and prices are managed with an API key'],
  ['crates/domain/src/pricing/tiers.rs', 'prices are managed with an API key'],
  ['crates/domain/src/checkout/manage_link.rs', 'payment links are managed with an API key'],
  ['crates/domain/src/payment/settlement.rs', 'logged by the worker'],
  ['crates/domain/src/billing/errors.rs', 'logged by the worker'],
  ['crates/domain/src/billing/unbillable.rs', 'logged by the worker'],
  ['crates/domain/src/billing/invoice/', 'each use case has its own message'],
  ['crates/domain/src/billing/stake/entity.rs', 'the caller retries'],
  ['crates/domain/src/billing/credit/card_check.rs', 'logged by the worker'],
  ['crates/domain/src/billing/credit/dispute.rs', 'logged by the worker'],
  ['crates/domain/src/billing/credit/provider_refund.rs', 'logged by the worker'],
  ['crates/domain/src/billing/invoice_document.rs', 'sent as a server error, and logged'],
  ['crates/domain/src/shared/storage_error.rs', 'sent as a server error, and logged'],
  ['crates/domain/src/shared/ids.rs', 'sent as 404'],
  ['crates/domain/src/ledger/', 'sent as a server error, and logged'],
  ['crates/domain/src/events/', 'logged by the worker'],
  ['crates/api/src/routes/payment_methods/', 'called with an API key'],
  ['crates/api/src/routes/payment_currencies/', 'called with an API key'],
  ['crates/api/src/routes/payment_links/', 'called with an API key'],
  ['crates/api/src/routes/prices/', 'called with an API key'],
  ['crates/api/src/routes/products/', 'called with an API key'],
  ['crates/api/src/routes/usage_records/', 'called with an API key'],
  ['crates/api/src/routes/checkout_sessions/manage.rs', 'called with an API key'],
  ['crates/api/src/routes/checkout_sessions/terms.rs', 'called with an API key'],
  ['crates/api/src/routes/webhooks/', 'called by the card processor'],
  ['crates/api/src/routes/health.rs', 'called by monitoring'],
  ['crates/api/src/routes/realtime/', 'read by the relay client, not by people'],
  ['crates/api/src/routes/input.rs', 'parameters that no page sends'],
];

/** Messages that no page shows, from files whose other messages are shown. */
const HIDDEN_MESSAGES = new Set([
  'verify sig failed',
  // The page always sends both as the server offered them.
  'type is credit or delegation',
  'type and amount must be sent together',
  'the event is not JSON of the expected shape',
  'Idempotency-Key must be 1 to 255 printable characters',
]);

const MESSAGE_PATTERNS = [
  /#\[error\("((?:[^"\\]|\\.)*)"/g,
  /Problem::bad\((?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /Problem::new\(StatusCode::\w+, (?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /too_many\((?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /^(?:pub )?const \w+: &str = "((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)";/gm,
];

/** The message with each placeholder filled. */
const filled = (message: string) => message.replace(/\{[^}]*\}/g, '7');

function messagesIn(folder: string): { path: string; message: string }[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.rs') && !name.endsWith('tests.rs'),
  );
  return files.flatMap((name) => {
    const path = `${folder}/${name}`;
    const source = readFileSync(join(root, path), 'utf8').split('#[cfg(test)]')[0] ?? '';
    // Constants of the domain crate are not messages.
    const patterns = folder.includes('/api/') ? MESSAGE_PATTERNS : MESSAGE_PATTERNS.slice(0, 1);
    return patterns.flatMap((pattern) => [...source.matchAll(pattern)].map(([, message = '']) => ({ path, message })));
  });
}

const all = ['crates/domain/src', 'crates/api/src'].flatMap(messagesIn);
const shown = all.filter(
  ({ path, message }) =>
    message.replace(/\{[^}]*\}/g, '').trim() !== '' &&
    !HIDDEN_MESSAGES.has(message) &&
    !HIDDEN_SOURCES.some(([source]) => path.startsWith(source)),
);

describe('the catalogue of error messages', () => {
  it('is compared with the messages of the server', () => {
    const found = all.map(({ message }) => message);
    for (const known of ['Nothing is overdue', 'Session not found or expired', 'The body is too large'])
      expect(found).toContain(known);
    expect(shown.length).toBeGreaterThan(90);
  });

  it('has every message that a page can show, and its Chinese translation', () => {
    const missing = shown.filter(({ message }) => {
      const text = translateMessage(filled(message), 'zh');
      return (
        !/\p{Script=Han}/u.test(text) || text === textFor({ en, zh }, 'zh', 'unknown', { sentence: filled(message) })
      );
    });
    expect(missing).toEqual([]);
  });

  it('excludes only sources and messages that exist', () => {
    const unused = HIDDEN_SOURCES.filter(([source]) => !all.some(({ path }) => path.startsWith(source)));
    expect(unused).toEqual([]);
    for (const message of HIDDEN_MESSAGES) expect(all.map((each) => each.message)).toContain(message);
  });
});

describe('an error code', () => {
  it('has a text with values in both languages', () => {
    const params = { minimum: '1', maximum: '50 SKT' };
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', params, 'en')).toBe('Please enter an amount between 1 and 50 SKT.');
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', params, 'zh')).toBe('请输入 1 到 50 SKT 之间的金额。');
    expect(codeMessage('NETWORK_DECLINED', { reason: 'INSUFFICIENT_FUND' }, 'zh')).toBe('你的钱包余额不足。');
  });

  it('has no text if it is unknown or lacks a value', () => {
    expect(codeMessage('OUT_OF_TEA', {}, 'en')).toBeUndefined();
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', { minimum: '1' }, 'en')).toBeUndefined();
    expect(codeMessage(undefined, {}, 'en')).toBeUndefined();
  });
});

describe('a server message', () => {
  it('keeps its values', () => {
    expect(translateMessage('Too many requests, please try again in 12 s', 'zh')).toBe(
      '请求过于频繁，请在 12 秒后重试。',
    );
    expect(translateMessage('Please enter an amount between 1 and 50 SKT.', 'zh')).toBe(
      '请输入 1 到 50 SKT 之间的金额。',
    );
    expect(translateMessage('Validate failed: customer_email: Invalid; customer_name: Required', 'en')).toBe(
      'Some details are missing or not valid.',
    );
  });

  it('of a network decline is translated by its code', () => {
    expect(translateMessage('The network declined the payment (INSUFFICIENT_FUND).', 'en')).toBe(
      'Your wallet has insufficient funds.',
    );
    expect(translateMessage('The network declined the payment (INVALID_TX).', 'zh')).toBe('支付网络拒绝了此付款。');
    expect(declineText('INSUFFICIENT_FUND', true, 'en')).toBe('Your card has insufficient funds.');
    expect(declineText('INVALID_DELEGATION_TYPE_URL', false, 'zh')).toBe('你的钱包扣款授权已被撤销。');
  });

  it('that is unknown stays as it is, and is marked on a Chinese page', () => {
    expect(translateMessage('The moon is full', 'en')).toBe('The moon is full');
    expect(translateMessage('The moon is full', 'zh')).toBe('操作未成功（The moon is full）');
    expect(translateMessage('余额不足', 'zh')).toBe('余额不足');
  });
});
