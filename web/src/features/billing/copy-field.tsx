import { Button, Flex, Input, Typography } from 'antd';
import { useEffect, useId, useRef, useState } from 'react';
import { announce } from '@/kit/announce';
import { copyText } from '@/lib/clipboard';
import { useTexts } from './texts';

interface CopyFieldProps {
  label: string;
  text: string;
  rows: number;
  /** Its lines scroll instead of breaking. */
  isCode?: boolean;
  /** It appears in answer to an action, and takes the focus. */
  isFirst?: boolean;
}

/** A text to copy, which is selected when it gets the focus. */
export function CopyField({ label, text, rows, isCode = false, isFirst = false }: CopyFieldProps) {
  const { t } = useTexts();
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [state, setState] = useState<'copied' | 'notCopied' | null>(null);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, [isFirst]);
  const copy = async () => {
    const next = (await copyText(text)) ? 'copied' : 'notCopied';
    setState(next);
    announce(t(`action.${next}`));
  };
  return (
    <Flex vertical gap={8}>
      <Flex justify="space-between" align="center" gap={12}>
        <label htmlFor={id} style={{ minWidth: 0 }}>
          {label}
        </label>
        <Button size="small" aria-label={`${t('action.copy')}: ${label}`} onClick={() => void copy()}>
          {t(state === 'copied' ? 'action.copied' : 'action.copy')}
        </Button>
      </Flex>
      <Input.TextArea
        id={id}
        ref={(area) => {
          field.current = area?.resizableTextArea?.textArea ?? null;
        }}
        value={text}
        readOnly
        autoSize={{ minRows: rows }}
        spellCheck={false}
        style={{
          fontFamily: 'var(--mono)',
          // The padding is the place of a scroll bar.
          ...(isCode
            ? { whiteSpace: 'pre', overflowX: 'auto', overflowY: 'hidden', paddingBlockEnd: 20 }
            : { wordBreak: 'break-all' }),
        }}
        onFocus={({ target }) => target.select()}
      />
      {state === 'notCopied' ? <Typography.Text type="danger">{t('action.notCopied')}</Typography.Text> : null}
    </Flex>
  );
}
