import { Form, Input } from 'antd';
import { rule } from '@/features/billing/form';
import { useTexts } from './texts';

/** As those of the server (`publishing/review`), in characters. */
export const COMMENT_MAX = 5000;
export const REASON_MAX = 255;

/** A required comment, the field `comment` of its form. */
export function CommentField({ label, hint, max = COMMENT_MAX }: { label: string; hint?: string; max?: number }) {
  const { t } = useTexts();
  return (
    <Form.Item
      name="comment"
      label={label}
      extra={hint}
      rules={[
        rule((text?: string) => Boolean(text?.trim()), t('comment.required')),
        rule((text?: string) => [...(text?.trim() ?? '')].length <= max, t('comment.tooLong', { max })),
      ]}
    >
      <Input.TextArea rows={4} autoComplete="off" />
    </Form.Item>
  );
}
