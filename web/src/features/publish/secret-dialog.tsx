import { Button, Checkbox } from 'antd';
import { useState } from 'react';
import type { CreatedAccessToken } from '@/api/types';
import { useStore, useUser } from '@/app/queries';
import { CopyField } from '@/features/billing/copy-field';
import { Dialog, Note } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { useTexts } from './texts';

/** Shows the secret of a new token, once. It closes only after the developer has stated that it was copied. */
export function SecretDialog({ created, onDone }: { created: CreatedAccessToken; onDone: () => void }) {
  const { t } = useTexts();
  const [isShown, setIsShown] = useState(false);
  const [isCopied, setIsCopied] = useState(false);
  return (
    <Dialog
      title={t('tokens.secret')}
      isBusy
      onClose={() => undefined}
      footer={
        <Button type="primary" disabled={!isCopied} onClick={onDone}>
          {t('tokens.done')}
        </Button>
      }
    >
      <div className={styles.body}>
        <Note type="warning" title={t('tokens.secretText')} />
        {isShown ? (
          <Secret created={created} />
        ) : (
          <div>
            {/* The dialog has the focus; its first action is the next thing to do. */}
            <Button onClick={() => setIsShown(true)}>{t('tokens.show')}</Button>
          </div>
        )}
        <Checkbox checked={isCopied} disabled={!isShown} onChange={({ target }) => setIsCopied(target.checked)}>
          {t('tokens.copied')}
        </Checkbox>
      </div>
    </Dialog>
  );
}

function Secret({ created }: { created: CreatedAccessToken }) {
  const { t } = useTexts();
  const store = useStore();
  const user = useUser();
  const commands = [
    `blocklet config set store ${store?.url.replace(/\/$/, '') ?? ''}`,
    `blocklet config set developerDid ${user?.did ?? ''}`,
    `blocklet config set accessToken ${created.secret_key}`,
  ].join('\n');
  return (
    <>
      <CopyField label={t('tokens.token')} text={created.secret_key} rows={2} isFirst />
      <CopyField label={t('tokens.commands')} text={commands} rows={4} isCode />
    </>
  );
}
