import type { CheckFinding } from '@/api/types';
import en from '@/i18n/en/reviews.json';
import type { Key, Texts } from './texts';

const isKey = (key: string): key is Key => key in en;

/** The name of a check; one that this page does not know as it is. */
export function checkName(name: string, t: Texts['t']): string {
  const key = `check.${name}`;
  return isKey(key) ? t(key) : name;
}

/** What a rule has found and how to fix it; a rule that this page does not know with the hint of the server. */
export function findingText(
  { rule, hint }: Pick<CheckFinding, 'rule' | 'hint'>,
  t: Texts['t'],
): { rule: string; hint: string } {
  const [ruleKey, hintKey] = [`rule.${rule}`, `hint.${rule}`];
  return { rule: isKey(ruleKey) ? t(ruleKey) : rule, hint: isKey(hintKey) ? t(hintKey) : hint };
}
