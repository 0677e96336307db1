import { useMutation, useQuery } from '@tanstack/react-query';
import { Alert, Button, Card, Col, Flex, Form, type FormRule, Input, Row, Select, Typography } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type { Customer } from '@/api/types';
import { queryClient } from '@/app/queries';
import { rule } from '@/features/billing/form';
import formStyles from '@/features/billing/form.module.css';
import { customerQuery } from '@/features/billing/queries';
import { LoadError, Loading } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { countries } from '@/lib/countries';
import { isEmail } from '@/lib/email';
import { fieldErrors, isPhone } from './contact-rules';

/** Field names of the API; address fields are sent below `address`. */
const ADDRESS = ['country', 'state', 'city', 'line1', 'line2', 'postal_code'] as const;
type Name = 'name' | 'email' | 'phone' | (typeof ADDRESS)[number];
type Values = Record<Name, string | undefined>;

function valuesOf(customer: Customer): Values {
  const address = customer.address ?? {};
  return {
    name: customer.name || customer.fullName || '',
    email: customer.email ?? '',
    phone: customer.phone ?? '',
    country: address.country?.toLowerCase() || undefined,
    state: address.state ?? '',
    city: address.city ?? '',
    line1: address.line1 ?? '',
    line2: address.line2 ?? '',
    postal_code: address.postal_code ?? '',
  };
}

/** The customer's billing details, which prefill the checkout. */
export function ContactForm() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(customerQuery);
  return (
    <Card>
      {data ? (
        <Fields customer={data} />
      ) : error ? (
        <LoadError title={t('profile.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={18} />
      )}
    </Card>
  );
}

function Fields({ customer }: { customer: Customer }) {
  const { t, language } = useTexts();
  const [form] = Form.useForm<Values>();
  // Fields validate on blur and, once invalid, on each change.
  const [invalid, setInvalid] = useState<readonly string[]>([]);
  const save = useMutation({
    mutationFn: ({ name, email, phone, ...address }: Values) =>
      api.put<Customer>('/api/customers/me', {
        name,
        email,
        phone,
        address: Object.fromEntries(ADDRESS.map((key) => [key, address[key] ?? ''])),
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: customerQuery.queryKey }),
    onError: (error) => {
      if (!(error instanceof ApiError)) return;
      const fields = fieldErrors(error.fields, { t });
      form.setFields(
        fields.map(([name, text]) => ({
          name: name as Name,
          errors: [
            (
              <span role="alert" key={name}>
                {text}
              </span>
            ) as never,
          ],
        })),
      );
      setInvalid(fields.map(([name]) => name));
      const [first] = fields;
      if (first) form.focusField(first[0] as Name);
    },
  });

  const field = (
    name: Name,
    label: string,
    autoComplete: string,
    { rules, hint, type }: { rules?: FormRule[]; hint?: string; type?: string } = {},
  ) => (
    <Form.Item<Values>
      name={name}
      label={label}
      extra={hint}
      rules={rules}
      validateTrigger={invalid.includes(name) ? ['onBlur', 'onChange'] : 'onBlur'}
    >
      <Input type={type} name={name} autoComplete={autoComplete} />
    </Form.Item>
  );
  const optional = (label: string) => t('profile.optional', { name: label });
  const required = (name: string) => rule((text?: string) => Boolean(text?.trim()), t('profile.required', { name }));

  return (
    <Form<Values>
      name="details"
      form={form}
      className={formStyles.form}
      layout="vertical"
      requiredMark={false}
      initialValues={valuesOf(customer)}
      scrollToFirstError={{ focus: true }}
      onValuesChange={() => save.reset()}
      onFieldsChange={(_, fields) =>
        setInvalid(fields.filter(({ errors }) => errors?.length).map(({ name }) => String(name)))
      }
      onFinish={(values) => save.mutate(values)}
    >
      <Typography.Title level={2}>{t('profile.contact')}</Typography.Title>
      <Typography.Paragraph type="secondary">{t('profile.contactHint')}</Typography.Paragraph>
      {field('name', t('profile.name'), 'name', { rules: [required(t('profile.name'))] })}
      {field('email', t('profile.email'), 'email', {
        type: 'email',
        rules: [
          required(t('profile.email')),
          rule((text?: string) => !text?.trim() || isEmail(text.trim()), t('profile.emailInvalid')),
        ],
      })}
      {field('phone', optional(t('profile.phone')), 'tel', {
        type: 'tel',
        hint: t('profile.phoneHint'),
        rules: [rule((text?: string) => !text?.trim() || isPhone(text), t('profile.phoneInvalid'))],
      })}
      <Form.Item<Values> name="country" label={optional(t('profile.country'))}>
        <Select
          allowClear
          showSearch={{ optionFilterProp: 'label' }}
          placeholder={t('profile.countryNone')}
          options={countries(language).map(({ code, name }) => ({ value: code, label: name }))}
        />
      </Form.Item>
      {field('line1', optional(t('profile.line1')), 'billing address-line1')}
      {field('line2', optional(t('profile.line2')), 'billing address-line2')}
      <Row gutter={16}>
        <Col xs={24} md={12}>
          {field('city', optional(t('profile.city')), 'billing address-level2')}
        </Col>
        <Col xs={24} md={12}>
          {field('state', optional(t('profile.state')), 'billing address-level1')}
        </Col>
        <Col xs={24} md={12}>
          {field('postal_code', optional(t('profile.postalCode')), 'billing postal-code')}
        </Col>
      </Row>
      <Flex gap={16} align="center" wrap>
        <Button type="primary" htmlType="submit" loading={save.isPending}>
          {t('profile.save')}
        </Button>
        <span role="status">{save.isSuccess ? t('profile.saved') : ''}</span>
        {save.isError ? (
          <Alert type="error" showIcon title={t('profile.notSaved', { message: translateError(save.error) })} />
        ) : null}
      </Flex>
    </Form>
  );
}
