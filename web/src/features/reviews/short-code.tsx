import { Typography } from 'antd';
import { shortDid } from './people';
import { useTexts } from './texts';

/** The start and the end of a reference or DID; its button copies all of it. */
export function ShortCode({ text }: { text: string }) {
  const { t } = useTexts();
  return (
    <Typography.Text
      code
      copyable={{ text, tooltips: [t('action.copy'), t('action.copied')] }}
      title={text}
      style={{ whiteSpace: 'nowrap' }}
    >
      {text.length > 16 ? shortDid(text) : text}
    </Typography.Text>
  );
}
