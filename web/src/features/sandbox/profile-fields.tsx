import { TextField } from '@/kit/field';
import { type Key, t } from './text';
import type { Account, Profile } from './types';

const EDITABLE = ['fullName', 'email', 'phone', 'birthday', 'url'] as const;
type Item = (typeof EDITABLE)[number];

const INPUTS: Record<Item, { type: string; autoComplete: string }> = {
  fullName: { type: 'text', autoComplete: 'name' },
  email: { type: 'email', autoComplete: 'email' },
  phone: { type: 'tel', autoComplete: 'tel' },
  birthday: { type: 'text', autoComplete: 'bday' },
  url: { type: 'url', autoComplete: 'url' },
};

export const editable = (items: string[]): Item[] => EDITABLE.filter((item) => items.includes(item));

/** Name and email are required if a store requests them; other fields are optional. */
export function profileErrors(profile: Profile, items: string[]): Partial<Record<Item, Key>> {
  const errors: Partial<Record<Item, Key>> = {};
  for (const item of editable(items)) {
    const value = profile[item]?.trim() ?? '';
    if (!value && (item === 'fullName' || item === 'email')) errors[item] = 'profile.missing';
    else if (item === 'email' && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value)) errors[item] = 'profile.invalidEmail';
  }
  return errors;
}

interface ProfileFieldsProps {
  items: string[];
  account: Account;
  errors: Partial<Record<Item, Key>>;
  onChange: (account: Account) => void;
}

/** The profile fields that are shared with a store, editable in place. */
export function ProfileFields({ items, account, errors, onChange }: ProfileFieldsProps) {
  return (
    <div className="wallet-fields">
      {editable(items).map((item) => {
        const error = errors[item];
        return (
          <TextField
            key={item}
            id={`profile_${item}`}
            name={item}
            label={t(`profile.${item}`)}
            value={account.profile[item] ?? ''}
            error={error && t(error)}
            onChange={(event) => onChange({ ...account, profile: { ...account.profile, [item]: event.target.value } })}
            {...INPUTS[item]}
          />
        );
      })}
    </div>
  );
}
