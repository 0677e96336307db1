import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import en from './en/error-messages.json';
import { codeMessage, declineText, translateMessage } from './error-messages';
import { textFor } from './light';
import zh from './zh/error-messages.json';

const root = join(import.meta.dirname, '../../..');

/** What is said to integrators and in logs only: where it is written, and why no page ever shows it. */
const NOT_FOR_PAGES: [path: string, why: string][] = [
  ['crates/domain/src/payment/method_admin.rs', 'methods are set up by key'],
  ['crates/domain/src/pricing/manage.rs', 'products and prices are set up by key'],
  ['crates/domain/src/pricing/tiers.rs', 'prices are set up by key'],
  ['crates/domain/src/checkout/manage_link.rs', 'links are set up by key'],
  ['crates/domain/src/payment/settlement.rs', 'the worker logs it'],
  ['crates/domain/src/billing/errors.rs', 'the worker logs it'],
  ['crates/domain/src/billing/unbillable.rs', 'the worker logs it'],
  ['crates/domain/src/billing/invoice/', 'each use case says in its own words why it does nothing'],
  ['crates/domain/src/billing/stake/entity.rs', 'the caller tries again'],
  ['crates/domain/src/billing/credit/card_check.rs', 'the worker logs it'],
  ['crates/domain/src/billing/credit/dispute.rs', 'the worker logs it'],
  ['crates/domain/src/billing/credit/provider_refund.rs', 'the worker logs it'],
  ['crates/domain/src/billing/invoice_document.rs', 'answered as a fault, and logged'],
  ['crates/domain/src/shared/storage_error.rs', 'answered as a fault, and logged'],
  ['crates/domain/src/shared/ids.rs', 'answered as not found'],
  ['crates/domain/src/ledger/', 'answered as a fault, and logged'],
  ['crates/domain/src/events/', 'the worker logs it'],
  ['crates/api/src/routes/payment_methods/', 'called with a key'],
  ['crates/api/src/routes/payment_currencies/', 'called with a key'],
  ['crates/api/src/routes/payment_links/', 'called with a key'],
  ['crates/api/src/routes/prices/', 'called with a key'],
  ['crates/api/src/routes/products/', 'called with a key'],
  ['crates/api/src/routes/usage_records/', 'called with a key'],
  ['crates/api/src/routes/invoices/line_description.rs', 'descriptions of lines, which pages word by their code'],
  ['crates/api/src/routes/checkout_sessions/manage.rs', 'called with a key'],
  ['crates/api/src/routes/checkout_sessions/terms.rs', 'called with a key'],
  ['crates/api/src/routes/webhooks/', 'called by the card processor'],
  ['crates/api/src/routes/health.rs', 'asked by machines'],
  ['crates/api/src/routes/realtime/', 'read by the relay of the page, not by people'],
  ['crates/api/src/routes/input.rs', 'parameters that no page sends'],
];

/** Single sentences of files whose others are shown. */
const NEVER_SHOWN = new Set([
  'verify sig failed',
  // The page sends both, as they were offered.
  'type is credit or delegation',
  'type and amount are told together',
  'the event is not JSON of the expected shape',
  'Idempotency-Key must be 1 to 255 printable characters',
]);

const SENTENCES = [
  /#\[error\("((?:[^"\\]|\\.)*)"/g,
  /Problem::bad\((?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /Problem::new\(StatusCode::\w+, (?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /too_many\((?:format!\()?"((?:[^"\\]|\\.)*)"/g,
  /^(?:pub )?const \w+: &str = "((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)";/gm,
];

/** With something in its gaps. */
const filled = (sentence: string) => sentence.replace(/\{[^}]*\}/g, '7');

function sentencesOf(folder: string): { path: string; sentence: string }[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.rs') && !name.endsWith('tests.rs'),
  );
  return files.flatMap((name) => {
    const path = `${folder}/${name}`;
    const source = readFileSync(join(root, path), 'utf8').split('#[cfg(test)]')[0] ?? '';
    // Constants of the domain are not sentences.
    const shapes = folder.includes('/api/') ? SENTENCES : SENTENCES.slice(0, 1);
    return shapes.flatMap((shape) => [...source.matchAll(shape)].map(([, sentence = '']) => ({ path, sentence })));
  });
}

const all = ['crates/domain/src', 'crates/api/src'].flatMap(sentencesOf);
const shown = all.filter(
  ({ path, sentence }) =>
    sentence.replace(/\{[^}]*\}/g, '').trim() !== '' &&
    !NEVER_SHOWN.has(sentence) &&
    !NOT_FOR_PAGES.some(([hidden]) => path.startsWith(hidden)),
);

describe('the catalogue of refusals', () => {
  it('finds the sentences of the server', () => {
    const found = all.map(({ sentence }) => sentence);
    for (const known of ['Nothing is overdue', 'Session not found or expired', 'The body is too large'])
      expect(found).toContain(known);
    expect(shown.length).toBeGreaterThan(90);
  });

  it('has every sentence that a page can show, and its Chinese', () => {
    const missing = shown.filter(({ sentence }) => {
      const text = translateMessage(filled(sentence), 'zh');
      return (
        !/\p{Script=Han}/u.test(text) || text === textFor({ en, zh }, 'zh', 'unknown', { sentence: filled(sentence) })
      );
    });
    expect(missing).toEqual([]);
  });

  it('keeps files and sentences out only as long as they exist', () => {
    const idle = NOT_FOR_PAGES.filter(([hidden]) => !all.some(({ path }) => path.startsWith(hidden)));
    expect(idle).toEqual([]);
    for (const sentence of NEVER_SHOWN) expect(all.map((each) => each.sentence)).toContain(sentence);
  });
});

describe('an error code', () => {
  it('has a text in both languages, filled with what differs from case to case', () => {
    const params = { minimum: '1', maximum: '50 SKT' };
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', params, 'en')).toBe('Please enter an amount between 1 and 50 SKT.');
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', params, 'zh')).toBe('请输入 1 到 50 SKT 之间的金额。');
    expect(codeMessage('NETWORK_DECLINED', { reason: 'INSUFFICIENT_FUND' }, 'zh')).toBe('你的钱包余额不足。');
  });

  it('that is not known, or lacks a value of its text, leaves the sentence to be shown', () => {
    expect(codeMessage('OUT_OF_TEA', {}, 'en')).toBeUndefined();
    expect(codeMessage('AMOUNT_OUT_OF_RANGE', { minimum: '1' }, 'en')).toBeUndefined();
    expect(codeMessage(undefined, {}, 'en')).toBeUndefined();
  });
});

describe('a refusal', () => {
  it('keeps what differs from case to case', () => {
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

  it('of a network is told by its code', () => {
    expect(translateMessage('The network refused the payment (INSUFFICIENT_FUND).', 'en')).toBe(
      'Your wallet has insufficient funds.',
    );
    expect(translateMessage('The network refused the payment (INVALID_TX).', 'zh')).toBe('支付网络拒绝了此付款。');
    expect(declineText('INSUFFICIENT_FUND', true, 'en')).toBe('Your card has insufficient funds.');
    expect(declineText('INVALID_DELEGATION_TYPE_URL', false, 'zh')).toBe('你的钱包扣款授权已被撤销。');
  });

  it('that nobody knows is left as it is, and is marked on a Chinese page', () => {
    expect(translateMessage('The moon is full', 'en')).toBe('The moon is full');
    expect(translateMessage('The moon is full', 'zh')).toBe('操作未成功（The moon is full）');
    expect(translateMessage('余额不足', 'zh')).toBe('余额不足');
  });
});
