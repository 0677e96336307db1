import { Form, Input } from 'antd';
import { rule } from '@/features/billing/form';
import { useTexts } from './texts';

/** As that of the server (`publishing/review`), in characters. */
export const COMMENT_MAX = 5000;

/** A required comment, the field `comment` of its form. */
export function CommentField({ label, hint }: { label: string; hint?: string }) {
  const { t } = useTexts();
  return (
    <Form.Item
      name="comment"
      label={label}
      extra={hint}
      rules={[
        rule((text?: string) => Boolean(text?.trim()), t('comment.required')),
        rule(
          (text?: string) => [...(text?.trim() ?? '')].length <= COMMENT_MAX,
          t('comment.tooLong', { max: COMMENT_MAX }),
        ),
      ]}
    >
      <Input.TextArea rows={4} autoComplete="off" />
    </Form.Item>
  );
}
