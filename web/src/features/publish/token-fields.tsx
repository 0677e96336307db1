import { Checkbox, Form, Input, Select } from 'antd';
import { rule } from '@/features/billing/form';
import {
  APP_PATTERNS_MAX,
  arePatterns,
  type NewToken,
  TOKEN_LIFETIMES,
  TOKEN_NAME_MAX,
  TOKEN_SCOPES,
  type TokenScope,
} from './access-tokens';
import { useTexts } from './texts';

/** The values of a new token that its form begins with. */
export const initialToken: NewToken = {
  name: '',
  scopes: ['publish-new', 'publish-update'],
  apps: ['*'],
  lifetime_days: 90,
};

interface TokenFieldsProps {
  /** The name that the token gets if the developer enters none. Without it, a name is required. */
  defaultName?: string;
}

/** The form fields of a new access token. */
export function TokenFields({ defaultName }: TokenFieldsProps) {
  const { t } = useTexts();
  return (
    <>
      <Form.Item<NewToken>
        name="name"
        label={t('tokens.name')}
        rules={[
          rule((name?: string) => defaultName !== undefined || Boolean(name?.trim()), t('tokens.nameRequired')),
          rule(
            (name?: string) => [...(name?.trim() ?? '')].length <= TOKEN_NAME_MAX,
            t('tokens.nameTooLong', { max: TOKEN_NAME_MAX }),
          ),
        ]}
      >
        <Input autoComplete="off" placeholder={defaultName} />
      </Form.Item>
      <ScopesField />
      <AppsField />
      <Form.Item<NewToken> name="lifetime_days" label={t('tokens.lifetime')}>
        <Select options={TOKEN_LIFETIMES.map((value) => ({ value, label: t('tokens.days', { count: value }) }))} />
      </Form.Item>
    </>
  );
}

/** What a token or a trusted publisher allows. */
export function ScopesField() {
  const { t } = useTexts();
  return (
    <Form.Item<NewToken>
      name="scopes"
      label={t('tokens.scopes')}
      rules={[rule((scopes?: TokenScope[]) => Boolean(scopes?.length), t('tokens.scopesRequired'))]}
    >
      <Checkbox.Group
        style={{ flexDirection: 'column', gap: 8 }}
        options={TOKEN_SCOPES.map((value) => ({ value, label: t(`tokens.scope.${value}`) }))}
      />
    </Form.Item>
  );
}

/** The apps for which a token or a trusted publisher is valid. */
export function AppsField() {
  const { t } = useTexts();
  return (
    <Form.Item<NewToken>
      name="apps"
      label={t('tokens.apps')}
      extra={t('tokens.appsHint')}
      rules={[rule(arePatterns, t('tokens.appsInvalid', { max: APP_PATTERNS_MAX }))]}
    >
      <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} />
    </Form.Item>
  );
}
