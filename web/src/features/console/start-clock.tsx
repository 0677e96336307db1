import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button, Flex, Form, Input } from 'antd';
import { api } from '@/api/client';
import type { TestClock } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ErrorAlert } from '@/features/billing/dialog';
import { CheckedForm, rule } from '@/features/billing/form';
import { translateError } from '@/i18n/translate';
import { useTexts } from './texts';

interface Values {
  customer: string;
  name?: string;
}

const NAME_MAX = 80;

/** Adds a test clock for a customer, who is named by id or DID. */
export function StartClock() {
  const { t } = useTexts();
  const navigate = useNavigate();
  const [form] = Form.useForm<Values>();
  const start = useMutation({
    mutationFn: ({ customer, name }: Values) =>
      api.post<TestClock>('/api/test-clocks', {
        customer_id: customer.trim(),
        name: name?.trim() || customer.trim(),
      }),
    onSuccess: async ({ id }) => {
      form.resetFields();
      await queryClient.invalidateQueries({ queryKey: ['test-clocks'] });
      await navigate({ to: '/console/test-clocks', search: { id } });
    },
  });
  return (
    <Flex vertical gap={12}>
      <CheckedForm<Values> name="clock" form={form} onFinish={(values) => start.mutate(values)}>
        <Form.Item<Values>
          name="customer"
          label={t('clocks.customer')}
          extra={t('clocks.customerHint')}
          rules={[rule((text?: string) => Boolean(text?.trim()), t('clocks.customerMissing'))]}
        >
          <Input spellCheck={false} autoComplete="off" />
        </Form.Item>
        <Form.Item<Values> name="name" label={t('clocks.name')}>
          <Input autoComplete="off" maxLength={NAME_MAX} />
        </Form.Item>
        <Button htmlType="submit" loading={start.isPending}>
          {t('clocks.startAction')}
        </Button>
      </CheckedForm>
      {start.isError ? <ErrorAlert title={t('clocks.notStarted')} text={translateError(start.error)} /> : null}
    </Flex>
  );
}
