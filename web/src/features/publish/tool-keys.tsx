import { useMutation } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useEffect } from 'react';
import { saveFile } from '@/app/save-file';
import { ActionError } from '@/features/billing/action-error';
import { Note } from '@/features/billing/dialog';
import { announce } from '@/kit/announce';
import type { AppKey } from './app-keys';
import { useTexts } from './texts';
import styles from './tool.module.css';

interface ToolKeysProps {
  apps: string[];
  keys: AppKey[];
  onCreated: (keys: AppKey[]) => void;
}

/** The file with the secret keys, which is the only place where they are kept. */
function saveKeys(apps: string[], keys: AppKey[]): void {
  const entries = keys.map((key, index) => ({ name: apps[index], ...key }));
  const name = apps.length === 1 ? `${apps[0]?.replaceAll(/[^A-Za-z0-9_-]+/g, '-')}.key.json` : 'app-keys.json';
  saveFile(name, new Blob([`${JSON.stringify(entries, null, 2)}\n`], { type: 'application/json' }));
}

/**
 * Creates the keys of the apps once, and saves the file with their secrets. They must not change any more: the tool is
 * told the DIDs of the keys that the user has saved.
 */
export function ToolKeys({ apps, keys, onCreated }: ToolKeysProps) {
  const { t } = useTexts();
  const create = useMutation({
    mutationFn: async () => {
      const { createAppKey } = await import('./app-keys');
      return apps.map(() => createAppKey());
    },
    onSuccess: (created) => {
      onCreated(created);
      saveKeys(apps, created);
      announce(t('tool.keysCreated'));
    },
  });
  const isCreated = keys.length > 0;
  useEffect(() => {
    if (!isCreated) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isCreated]);
  return (
    <section aria-labelledby="tool-keys-title">
      <Flex vertical gap={16} align="stretch">
        <Typography.Title level={2} id="tool-keys-title" style={{ margin: 0 }}>
          {t('tool.keys')}
        </Typography.Title>
        <Typography.Paragraph style={{ margin: 0 }}>{t('tool.keysText')}</Typography.Paragraph>
        {isCreated ? (
          <dl className={styles.keys}>
            {keys.map(({ did }, index) => (
              <div key={did}>
                <dt>
                  <bdi>{apps[index]}</bdi>
                </dt>
                <dd>{did}</dd>
              </div>
            ))}
          </dl>
        ) : null}
        {isCreated ? <Note type="info" title={t('tool.keysCreated')} description={t('tool.keysCreatedText')} /> : null}
        <ActionError title={t('tool.keysFailed')} action={create} />
        <Button
          style={{ alignSelf: 'flex-start' }}
          loading={create.isPending}
          onClick={() => (isCreated ? saveKeys(apps, keys) : create.mutate())}
        >
          {t(isCreated ? 'tool.keysAgain' : 'tool.keysCreate')}
        </Button>
      </Flex>
    </section>
  );
}
