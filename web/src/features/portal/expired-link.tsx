import { Button } from 'antd';
import { signIn } from '@/app/sign-in';
import { PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';

/** The link of an email has expired; its customer can still sign in. */
export function ExpiredLink() {
  const { t } = useTexts();
  return (
    <PageResult
      status="warning"
      title={t('link.expired')}
      text={t('link.expiredText')}
      action={
        <Button type="primary" onClick={() => void signIn()}>
          {t('link.connect')}
        </Button>
      }
    />
  );
}
