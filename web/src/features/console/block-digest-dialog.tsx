import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import type { BlockedDigest } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { blockDigest, DIGEST_REASON_MAX, digestOf } from './blocked-digests';
import { useTexts } from './texts';

const FORM = 'blocked-digest';

interface Values {
  sha256: string;
  reason: string;
}

interface BlockDigestDialogProps {
  /** The file whose reason changes; none: another file is blocked. */
  blocked?: BlockedDigest;
  onClose: () => void;
  onDone: () => void;
}

/** Blocks a file, or changes the reason. */
export function BlockDigestDialog({ blocked, onClose, onDone }: BlockDigestDialogProps) {
  const { t } = useTexts();
  const save = useMutation({
    mutationFn: ({ sha256, reason }: Values) => blockDigest({ sha256: digestOf(sha256) ?? '', reason: reason.trim() }),
    onSuccess: onDone,
  });
  return (
    <Dialog
      title={t(blocked ? 'digests.editTitle' : 'digests.block')}
      isBusy={save.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={save.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={save.isPending}>
            {t(blocked ? 'action.save' : 'digests.blockAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        {blocked ? null : <p>{t('digests.blockText')}</p>}
        <CheckedForm<Values>
          name={FORM}
          initialValues={{ sha256: blocked?.sha256 ?? '', reason: blocked?.reason ?? '' }}
          onFinish={(values) => save.mutate(values)}
        >
          <Form.Item<Values>
            name="sha256"
            label={t('digests.sha256')}
            extra={blocked ? undefined : t('digests.sha256Hint')}
            rules={[rule((text?: string) => digestOf(text) !== undefined, t('digests.sha256Invalid'))]}
          >
            <Input
              autoComplete="off"
              spellCheck={false}
              readOnly={blocked !== undefined}
              style={{ fontFamily: 'var(--mono)' }}
            />
          </Form.Item>
          <Form.Item<Values>
            name="reason"
            label={t('digests.reason')}
            extra={t('digests.reasonHint')}
            rules={[
              rule((text?: string) => Boolean(text?.trim()), t('digests.reasonRequired')),
              rule(
                (text?: string) => [...(text?.trim() ?? '')].length <= DIGEST_REASON_MAX,
                t('digests.reasonTooLong', { max: DIGEST_REASON_MAX }),
              ),
            ]}
          >
            <Input autoComplete="off" />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t(blocked ? 'digests.notSaved' : 'digests.notBlocked')} action={save} />
      </div>
    </Dialog>
  );
}
