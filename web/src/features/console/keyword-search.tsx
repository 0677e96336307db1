import { Button, Flex, Form, Input } from 'antd';
import { usePhone } from '@/lib/use-phone';

interface KeywordSearchProps {
  /** What the keyword is compared with. */
  label: string;
  /** The label of the button. */
  action: string;
  keyword?: string;
  onSearch: (keyword: string | undefined) => void;
}

/** A field for a keyword, with its button beside it. */
export function KeywordSearch({ label, action, keyword, onSearch }: KeywordSearchProps) {
  const phone = usePhone();
  return (
    <Form<{ keyword?: string }>
      key={keyword}
      name="search"
      layout="vertical"
      style={{ width: '100%', maxWidth: phone ? undefined : 340 }}
      initialValues={{ keyword }}
      onFinish={({ keyword: typed }) => onSearch(typed?.trim() || undefined)}
    >
      <Flex gap={8} align="end">
        <Form.Item name="keyword" label={label} style={{ flex: 1, margin: 0 }}>
          <Input autoComplete="off" spellCheck={false} allowClear />
        </Form.Item>
        <Button htmlType="submit">{action}</Button>
      </Flex>
    </Form>
  );
}
