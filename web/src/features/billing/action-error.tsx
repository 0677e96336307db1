import type { UseMutationResult } from '@tanstack/react-query';
import { Alert, Button, Flex } from 'antd';
import { useEffect, useRef } from 'react';
import { ApiError } from '@/api/error';
import { signIn } from '@/app/sign-in';
import { translateError } from '@/i18n/translate';
import { ErrorAlert } from './dialog';
import { useTexts } from './texts';

interface ActionErrorProps<V> {
  title: string;
  action: UseMutationResult<unknown, Error, V>;
}

const needsSignIn = (error: unknown) => error instanceof ApiError && error.code === 'SIGN_IN_AGAIN';

/** Why an action failed. If it needs a recent sign-in, offers it and then continues the action. */
export function ActionError<V>({ title, action }: ActionErrorProps<V>) {
  if (!action.isError) return null;
  if (needsSignIn(action.error)) return <SignInAgain onDone={() => action.mutate(action.variables)} />;
  return <ErrorAlert title={title} text={translateError(action.error)} />;
}

/** Takes the focus, so that it is visible and announced. */
function SignInAgain({ onDone }: { onDone: () => void }) {
  const { t } = useTexts();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    ref.current?.focus({ preventScroll: true });
    ref.current?.scrollIntoView({ block: 'center' });
  }, []);
  return (
    <div ref={ref} tabIndex={-1} role="alert">
      <Alert
        type="warning"
        showIcon
        role="presentation"
        title={t('signInAgain.title')}
        description={
          <Flex vertical gap={12} align="flex-start">
            {t('signInAgain.text')}
            <Button type="primary" onClick={() => void signIn(onDone)}>
              {t('signInAgain.action')}
            </Button>
          </Flex>
        }
      />
    </div>
  );
}
