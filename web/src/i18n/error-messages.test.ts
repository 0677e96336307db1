import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import en from './en/error-messages.json';
import { codeMessage, declineText, unknownMessage } from './error-messages';
import zh from './zh/error-messages.json';

const catalogues: Record<string, string>[] = [en, zh];
const root = join(import.meta.dirname, '../../../crates/api/src');

/** Sources whose own codes need no text, because no page calls them. */
const API_ONLY: [path: string, why: string][] = [
  ['problem/admin.rs', 'products, prices, payment links and payment methods are managed with an API key'],
  ['problem/uploads.rs', 'versions are uploaded by command-line tools'],
  ['problem/installing.rs', 'apps are installed by command lines'],
  ['routes/blocklets/', 'called by command-line tools'],
  ['problem/instances.rs', 'called by instances of apps'],
  ['routes/webhooks/', 'called by card processors'],
  ['routes/health.rs', 'called by monitoring'],
  ['routes/realtime/', 'read by the relay client, not by people'],
];

/** Codes without a text of their own. */
const WITHOUT_TEXT: Record<string, string> = {
  NETWORK_DECLINED: 'the text is that of its parameter `reason`, the code of the network',
  IDEMPOTENCY_KEY_INVALID: 'the pages generate valid keys',
};

/** Codes that the pages create themselves. */
const CLIENT_CODES: Record<string, string> = { SIGNED_OUT: 'the code `forbidden` with status 401' };

/** Constructors that set no code; every use of them is checked instead. */
const CONSTRUCTORS = [
  'Self::new(StatusCode::BAD_REQUEST, error)',
  'Self::new(StatusCode::FORBIDDEN, reason)',
  'Self::bad(text.clone())',
];
/** Helpers that receive the code as their last argument; every use of them is checked instead. */
const HELPERS = ['rejected', 'conflict', 'unauthorized'];

interface Source {
  path: string;
  text: string;
}

const sources: Source[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.rs') && !path.endsWith('tests.rs'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8').split('#[cfg(test)]\nmod tests')[0] ?? '' }));

/** The index after the parenthesis that closes the one at `open`. */
function endOfCall(text: string, open: number): number {
  let depth = 0;
  const tokens = /"(?:[^"\\]|\\.)*"|[()]/g;
  tokens.lastIndex = open;
  for (let token = tokens.exec(text); token; token = tokens.exec(text)) {
    if (token[0] === '(') depth += 1;
    else if (token[0] === ')') depth -= 1;
    if (depth === 0) return tokens.lastIndex;
  }
  throw new Error(`unbalanced: ${text.slice(open, open + 60)}`);
}

const callOf = (text: string, { 0: match, index }: RegExpExecArray) =>
  text.slice(index, endOfCall(text, index + match.length - 1));

/** The calls that make a `Problem` without a code. */
function withoutCode({ path, text }: Source): string[] {
  const owner = path.startsWith('problem/') ? '(?:Problem|Self)' : 'Problem';
  return [...text.matchAll(new RegExp(`\\b${owner}::(?:bad|new|forbidden_for)\\(`, 'g'))]
    .map((match) => ({ call: callOf(text, match), index: match.index }))
    .filter(({ call, index }) => !CONSTRUCTORS.includes(call) && !/^\s*\.code\(/.test(text.slice(index + call.length)))
    .map(({ call }) => call);
}

const constants = Object.fromEntries(
  sources.flatMap(({ text }) =>
    [...text.matchAll(/const (\w+): &str = "([A-Z][A-Z_]+)";/g)].map(([, name = '', value = '']) => [name, value]),
  ),
);

interface Use {
  path: string;
  code: string;
  params: string[];
}

/** Each place that sets a code, with the parameters that follow it. */
function usesIn({ path, text }: Source): Use[] {
  const calls = new RegExp(`\\.code\\(|(?<!fn )\\b(?:${HELPERS.join('|')})\\(`, 'g');
  return [...text.matchAll(calls)].flatMap((match) => {
    const call = callOf(text, match);
    const [, literal, constant] = /(?:"(\w+)"|\b([A-Z][A-Z_]+)),?\s*\)$/.exec(call) ?? [];
    const code = literal ?? (constant && constants[constant]);
    if (!code) return [];
    const params: string[] = [];
    let end = match.index + call.length;
    for (let param = nextParam(text, end); param; param = nextParam(text, end)) {
      params.push(param.name);
      end = param.end;
    }
    return [{ path, code, params }];
  });
}

function nextParam(text: string, from: number): { name: string; end: number } | undefined {
  const [found, name] = /^\s*\.param\(\s*"(\w+)"/.exec(text.slice(from)) ?? [];
  return found && name ? { name, end: endOfCall(text, text.indexOf('(', from)) } : undefined;
}

const uses = sources.flatMap(usesIn);
const shown = uses.filter(
  ({ path, code }) => !API_ONLY.some(([source]) => path.startsWith(source)) && !WITHOUT_TEXT[code],
);
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

describe('the errors of the server', () => {
  it('have a code', () => {
    const missing = sources.flatMap((source) => withoutCode(source).map((call) => `${source.path}: ${call}`));
    expect(missing).toEqual([]);
    expect(withoutCode({ path: 'routes/x.rs', text: 'Err(Problem::bad(format!("{x} :)")))' })).toHaveLength(1);
    expect(withoutCode({ path: 'routes/x.rs', text: 'Problem::new(A, b())\n    .code("C")' })).toEqual([]);
  });

  it('are found by this test', () => {
    expect(uses).toContainEqual({ path: 'rates.rs', code: 'TOO_MANY_REQUESTS', params: ['seconds'] });
    expect(uses).toContainEqual({ path: 'problem/mod.rs', code: 'TOO_LONG', params: ['field', 'max'] });
    expect(uses).toContainEqual({ path: 'problem/subscriptions.rs', code: 'AMOUNT_TOO_LARGE', params: ['maximum'] });
    expect(uses).toContainEqual({ path: 'problem/mod.rs', code: 'NETWORK_DECLINED', params: ['reason'] });
    expect(uses.map(({ code }) => code)).toContain('METHOD_NOT_SUPPORTED');
    expect(new Set(uses.map(({ code }) => code)).size).toBeGreaterThan(110);
  });

  it('have a text per code in both languages', () => {
    const missing = shown.filter(({ code }) => catalogues.some((texts) => !texts[`error.${code}`]));
    expect(missing).toEqual([]);
  });

  it('give every value that the text of their code has', () => {
    const missing = shown.filter(({ code, params }) =>
      catalogues.some((texts) => placeholders(texts[`error.${code}`] ?? '').some((name) => !params.includes(name))),
    );
    expect(missing).toEqual([]);
  });

  it('have all texts and exceptions of this catalogue', () => {
    // Codes that only the API gives need no text, but may have one.
    const known = [...uses.map(({ code }) => code), ...Object.keys(CLIENT_CODES)];
    const unused = Object.keys(en).filter((key) => key.startsWith('error.') && !known.includes(key.slice(6)));
    expect(unused).toEqual([]);
    for (const [source] of API_ONLY) expect(uses.some(({ path }) => path.startsWith(source))).toBe(true);
    for (const code of Object.keys(WITHOUT_TEXT)) expect(uses.map((use) => use.code)).toContain(code);
    for (const call of CONSTRUCTORS) expect(sources.some(({ text }) => text.includes(call))).toBe(true);
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

describe('the decline of a network or a bank', () => {
  it('is translated by its code', () => {
    expect(declineText('INSUFFICIENT_FUND', false, 'en')).toBe('Your wallet has insufficient funds.');
    expect(declineText('INSUFFICIENT_FUND', true, 'en')).toBe('Your card has insufficient funds.');
    expect(declineText('INVALID_DELEGATION_TYPE_URL', false, 'zh')).toBe('你的钱包扣款授权已被撤销。');
    expect(declineText('STAKE_TERMS_DIFFER', false, 'zh')).toContain('与本店不同的条款');
    expect(declineText('INVALID_TX', false, 'zh')).toBe('支付网络拒绝了此付款。');
    expect(declineText(undefined, true, 'zh')).toBe('你的银行卡被拒绝。');
  });
});

describe('a message without a known code', () => {
  it('stays as it is, and is marked on a Chinese page', () => {
    expect(unknownMessage('Nothing is overdue', 'en')).toBe('Nothing is overdue');
    expect(unknownMessage('Nothing is overdue', 'zh')).toBe('操作未成功（Nothing is overdue）');
    expect(unknownMessage('余额不足', 'zh')).toBe('余额不足');
  });
});
