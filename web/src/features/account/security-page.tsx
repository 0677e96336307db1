import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import { usePageTitle } from '@/app/page';
import { PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { Devices } from './devices';
import { Logins } from './logins';
import { MailLinks } from './mail-links';
import { ErasureSection, MyData } from './my-data';

/** Where the user is signed in, the links in emails, and the export and erasure of the user's data. */
export function SecurityPage() {
  const { t } = useTexts();
  const [isErased, setIsErased] = useState(false);
  usePageTitle(t('security.title'));
  // The login has ended with the erasure. The link loads the home page anew, so that no data of the user stays in memory.
  if (isErased)
    return (
      <PageResult
        status="success"
        title={t('erasure.done')}
        action={
          <Button href="/" type="primary">
            {t('owner.toStore')}
          </Button>
        }
      />
    );
  return (
    <Flex vertical gap={40} style={{ maxWidth: 720 }}>
      <div>
        <Typography.Title level={1}>{t('security.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('security.lead')}</Typography.Text>
      </div>
      <Logins />
      <Devices />
      <MailLinks />
      <MyData />
      <ErasureSection onErased={() => setIsErased(true)} />
    </Flex>
  );
}
