import { useMutation } from '@tanstack/react-query';
import { Alert, Button, Card, Checkbox, Col, Flex, Form, Input, InputNumber, Radio, Row, Select } from 'antd';
import { type ReactNode, useState } from 'react';
import { ApiError, type FieldProblem } from '@/api/error';
import type { Preferences } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import formStyles from '@/features/billing/form.module.css';
import { translateError } from '@/i18n/translate';
import {
  type DecimalField,
  decimalProblem,
  ISSUER_EXAMPLES,
  type IssuerField,
  issuersProblem,
  percentOf,
  preferencesQuery,
  problemText,
  savePreferences,
  shareOf,
  type WholeNumber,
  wholeNumberProblem,
} from './preferences';
import { useTexts } from './texts';

type Values = Omit<Preferences, 'version' | 'changed_at'>;

const LOGO_TYPES = ['png', 'jpg', 'svg', 'webp'] as const;
/** The fields show the store's share as a percentage. */
const valuesOf = (preferences: Preferences): Values => ({
  ...preferences,
  store_share: percentOf(preferences.store_share),
});
const isChanged = (error: unknown) => error instanceof ApiError && error.code === 'PREFERENCES_CHANGED';

/** The form keeps what was typed: saving replaces the version that it is based on, and nothing else. */
export function SettingsForm({ preferences }: { preferences: Preferences }) {
  const texts = useTexts();
  const { t } = texts;
  const [form] = Form.useForm<Values>();
  // The version that the fields are based on. Query data can be newer, if someone else has saved meanwhile.
  const [version, setVersion] = useState(preferences.version);
  const save = useMutation({
    mutationFn: (values: Values) =>
      savePreferences({ ...values, store_share: shareOf(values.store_share), version, changed_at: null }),
    onSuccess: (saved) => {
      setVersion(saved.version);
      queryClient.setQueryData(preferencesQuery.queryKey, saved);
    },
    onError: (error) => {
      if (error instanceof ApiError) showProblems(error.fields);
    },
  });
  const reload = useMutation({
    mutationFn: () => queryClient.fetchQuery({ ...preferencesQuery, staleTime: 0 }),
    onSuccess: (current) => {
      setVersion(current.version);
      form.setFieldsValue(valuesOf(current));
      save.reset();
    },
  });
  const showProblems = (fields: Record<string, FieldProblem>) => {
    const names = Object.keys(fields) as (keyof Values)[];
    form.setFields(
      Object.entries(fields).map(([name, problem]) => ({
        name: name as keyof Values,
        errors: [problemText(problem, texts)],
      })),
    );
    if (names[0]) form.focusField(names[0]);
  };
  const checked = <V,>(problemOf: (value: V) => FieldProblem | undefined) => ({
    validator: (_: unknown, value: V) => {
      const problem = problemOf(value);
      return problem ? Promise.reject(new Error(problemText(problem, texts))) : Promise.resolve();
    },
  });
  const whole = (name: WholeNumber, unit: string) => (
    <Form.Item<Values>
      name={name}
      label={t(`settings.${name}`)}
      rules={[checked((value: number | null) => wholeNumberProblem(name, value))]}
    >
      <InputNumber style={{ width: '100%' }} precision={0} suffix={unit} controls={false} />
    </Form.Item>
  );
  const stakeCurrency = Form.useWatch('stake_currency', form) ?? preferences.stake_currency;
  const decimal = (name: DecimalField, unit?: string, hint?: string) => (
    <Form.Item<Values>
      name={name}
      label={t(`settings.${name}`)}
      extra={hint}
      rules={[checked((value: string) => decimalProblem(name, value))]}
    >
      <Input inputMode="decimal" autoComplete="off" suffix={unit} />
    </Form.Item>
  );
  const issuers = (name: IssuerField) => (
    <Form.Item<Values>
      name={name}
      label={t(`settings.${name}`)}
      extra={t('settings.issuersHint', { example: ISSUER_EXAMPLES[name] })}
      rules={[checked((value: string[]) => issuersProblem(value))]}
    >
      <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} />
    </Form.Item>
  );
  return (
    <Form<Values>
      name="preferences"
      form={form}
      className={formStyles.form}
      layout="vertical"
      requiredMark={false}
      validateTrigger="onBlur"
      initialValues={valuesOf(preferences)}
      scrollToFirstError={{ focus: true }}
      onValuesChange={() => save.reset()}
      onFinish={(values) => save.mutate(values)}
    >
      <Flex vertical gap={24}>
        <Part title={t('settings.part.permission')}>
          <Form.Item<Values> name="permission_mode" label={t('settings.permission_mode')}>
            <Choices options={['inviting', 'staking'] as const} text={(value) => t(`settings.permission.${value}`)} />
          </Form.Item>
          <Pair>
            {decimal('passport_stake_amount', stakeCurrency)}
            {whole('passport_waiting_days', t('settings.unit.days'))}
            {decimal('publish_stake_amount', stakeCurrency)}
            {whole('publish_waiting_days', t('settings.unit.days'))}
          </Pair>
          <Form.Item<Values>
            name="stake_currency"
            label={t('settings.stake_currency')}
            extra={t('settings.stake_currencyHint')}
            rules={[
              checked((value: string) =>
                value?.trim()
                  ? /^[A-Za-z0-9]{1,12}$/.test(value.trim())
                    ? undefined
                    : symbolProblem
                  : { code: 'REQUIRED' },
              ),
            ]}
          >
            <Input autoComplete="off" spellCheck={false} />
          </Form.Item>
        </Part>
        <Part title={t('settings.part.review')}>
          <Form.Item<Values> name="review_required" valuePropName="checked">
            <Checkbox>{t('settings.review_required')}</Checkbox>
          </Form.Item>
          <Form.Item<Values> name="review_type" label={t('settings.review_type')} extra={t('settings.review_typeHint')}>
            <Choices options={['FIRST', 'EACH'] as const} text={(value) => t(`settings.review.${value}`)} />
          </Form.Item>
        </Part>
        <Part title={t('settings.part.uploads')}>
          <Form.Item<Values>
            name="logo_types"
            label={t('settings.logo_types')}
            rules={[checked((value: string[]) => (value.length > 0 ? undefined : { code: 'REQUIRED' }))]}
          >
            <Checkbox.Group
              style={{ rowGap: 12 }}
              options={LOGO_TYPES.map((value) => ({ value, label: value.toUpperCase() }))}
            />
          </Form.Item>
          <Pair>
            {whole('bundle_max_mb', 'MB')}
            {whole('logo_max_kb', 'kB')}
            {whole('image_max_mb', 'MB')}
            {whole('image_count_min', t('settings.unit.images'))}
            {whole('image_count_max', t('settings.unit.images'))}
            {whole('image_width_min', 'px')}
            {whole('image_height_min', 'px')}
          </Pair>
        </Part>
        <Part title={t('settings.part.prices')}>
          <Form.Item<Values> name="paid_apps_allowed" valuePropName="checked">
            <Checkbox>{t('settings.paid_apps_allowed')}</Checkbox>
          </Form.Item>
          <Pair>
            {decimal('price_min', undefined, t('settings.priceHint'))}
            {decimal('price_max', undefined, t('settings.priceHint'))}
            {decimal('store_share', '%')}
          </Pair>
        </Part>
        <Part title={t('settings.part.ci')}>
          <p style={{ margin: '0 0 16px' }}>{t('settings.ciHint')}</p>
          {issuers('github_issuers')}
          {issuers('gitlab_issuers')}
        </Part>
        {isChanged(save.error) ? (
          <Alert
            type="warning"
            showIcon
            title={translateError(save.error)}
            description={t('settings.changedText')}
            action={
              <Button loading={reload.isPending} onClick={() => reload.mutate()}>
                {t('settings.reload')}
              </Button>
            }
          />
        ) : (
          <ActionError title={t('settings.notSaved')} action={save} />
        )}
        <Flex gap={16} align="center" wrap>
          <Button type="primary" htmlType="submit" loading={save.isPending}>
            {t('settings.save')}
          </Button>
          <span role="status">{save.isSuccess ? t('settings.saved') : ''}</span>
        </Flex>
      </Flex>
    </Form>
  );
}

const symbolProblem: FieldProblem = { code: 'SYMBOL', params: { max: '12' } };

function Part({ title, children }: { title: string; children: ReactNode }) {
  return <Card title={<h2 style={{ margin: 0, fontSize: 'var(--size-m)' }}>{title}</h2>}>{children}</Card>;
}

/** Fields beside each other, below each other on a phone. */
function Pair({ children }: { children: ReactNode[] }) {
  return (
    <Row gutter={16}>
      {children.map((child, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the fields never move.
        <Col key={index} xs={24} md={12}>
          {child}
        </Col>
      ))}
    </Row>
  );
}

interface ChoicesProps<K extends string> {
  options: readonly K[];
  text: (value: K) => string;
  value?: K;
  onChange?: (value: K) => void;
  id?: string;
}

/** Radio buttons below each other; the form gives value, id and change handler. */
function Choices<K extends string>({ options, text, value, onChange, id }: ChoicesProps<K>) {
  return (
    <Radio.Group
      id={id}
      value={value}
      onChange={({ target }) => onChange?.(target.value as K)}
      vertical
      options={options.map((option) => ({ value: option, label: text(option) }))}
    />
  );
}
