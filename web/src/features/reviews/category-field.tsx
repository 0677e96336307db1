import { useQuery } from '@tanstack/react-query';
import { Form, Select } from 'antd';
import { categoriesQuery } from '@/app/queries';
import { rule } from '@/features/billing/form';
import { LoadError } from '@/features/billing/states';
import { useTexts } from './texts';

/** The category of the app, the field `category_id` of its form. */
export function CategoryField({ hint }: { hint?: string }) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(categoriesQuery);
  if (error && !data) return <LoadError title={t('category.error')} error={error} onRetry={() => void refetch()} />;
  return (
    <Form.Item
      name="category_id"
      label={t('facts.category')}
      extra={hint}
      rules={[rule((id?: string | null) => Boolean(id), t('category.required'))]}
    >
      <Select
        loading={!data}
        placeholder={t('category.placeholder')}
        options={data?.list.map(({ id, name }) => ({ value: id, label: name[language] || name.en }))}
      />
    </Form.Item>
  );
}
