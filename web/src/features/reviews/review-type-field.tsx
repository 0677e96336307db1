import { Form } from 'antd';
import type { ReviewType } from '@/api/types';
import { OptionList } from '@/features/billing/option-list';
import { useTexts } from './texts';

/** Which versions of the app are reviewed, the field `review_type` of its form. */
export function ReviewTypeField({ current }: { current: ReviewType | null }) {
  const { t } = useTexts();
  // A choice for the app stays one: the store's setting applies to apps without a choice only.
  const types: (ReviewType | 'store')[] = current === null ? ['store', 'FIRST', 'EACH'] : ['FIRST', 'EACH'];
  return (
    <Form.Item name="review_type" label={t('facts.reviewType')}>
      <OptionList
        label={t('facts.reviewType')}
        options={types.map((value) => ({
          value,
          title: t(`reviewType.${value}`),
          detail: t(`reviewType.${value}.detail`),
        }))}
      />
    </Form.Item>
  );
}
