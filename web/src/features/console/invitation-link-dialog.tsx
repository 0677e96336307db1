import { Button } from 'antd';
import type { CreatedInvitation } from '@/api/types';
import { CopyField } from '@/features/billing/copy-field';
import { Dialog, Note } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { dateTimeText } from '@/lib/format';
import { useTexts } from './texts';

/** Shows the link of a new invitation, once. */
export function InvitationLinkDialog({ created, onClose }: { created: CreatedInvitation; onClose: () => void }) {
  const { t, language } = useTexts();
  const { role, expires_at: expires } = created.invitation;
  return (
    <Dialog
      title={t('invitations.link')}
      onClose={onClose}
      footer={
        <Button type="primary" onClick={onClose}>
          {t('invitations.done')}
        </Button>
      }
    >
      <div className={styles.body}>
        <Note
          type="warning"
          title={t('invitations.linkText', { role: t(`role.${role}`), date: dateTimeText(expires, language) })}
        />
        <CopyField label={t('invitations.linkLabel')} text={created.link} rows={3} isFirst />
      </div>
    </Dialog>
  );
}
