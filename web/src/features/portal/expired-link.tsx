import { Notice } from '@/app/notice';
import { signIn } from '@/app/sign-in';
import { Button } from '@/kit/button';
import { useTexts } from './texts';

/** The link of a mail does not open its page any more; whoever it belongs to can still sign in. */
export function ExpiredLink() {
  const { t } = useTexts();
  return (
    <Notice
      asPage
      title={t('link.expired')}
      text={t('link.expiredText')}
      action={
        <Button look="primary" onClick={() => void signIn()}>
          {t('link.connect')}
        </Button>
      }
    />
  );
}
