import { useMutation } from '@tanstack/react-query';
import { Button, Checkbox, Form } from 'antd';
import { useState } from 'react';
import type { DeveloperProgram } from '@/api/types';
import { useUser } from '@/app/queries';
import { signIn } from '@/app/sign-in';
import { ActionError } from '@/features/billing/action-error';
import { focusAfterChange } from '@/features/billing/focus';
import { CheckedForm, rule } from '@/features/billing/form';
import { openConnect } from '@/features/connect';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { agreeToTerms, reloadStanding } from './program';
import { useTexts } from './texts';

/** Records the agreement to the terms, and asks the wallet for the deposit. A visitor signs in first. */
export function JoinForm({ program }: { program: DeveloperProgram }) {
  const { t, language } = useTexts();
  const user = useUser();
  const [isSigning, setIsSigning] = useState(false);
  const { membership, standing, terms_version: version } = program;
  const pay = () => {
    setIsSigning(true);
    openConnect({
      action: 'stake-and-join',
      title: t('join.connectTitle'),
      failedTitle: t('join.failed'),
      // The passport is issued together with the settlement of the deposit.
      onSuccess: () => {
        announce(t('join.done'));
        void reloadStanding().then(() => {
          setIsSigning(false);
          focusAfterChange('h1');
        });
      },
      onClose: () => setIsSigning(false),
    });
  };
  const agree = useMutation({ mutationFn: () => agreeToTerms(version), onSuccess: pay });
  const amount = membership ? formatMoney(missing(program), membership.currency, language) : '';
  return (
    <CheckedForm<{ agreed: boolean }>
      name="join"
      initialValues={{ agreed: false }}
      onFinish={() => (user ? agree.mutate() : void signIn())}
    >
      <Form.Item<{ agreed: boolean }>
        name="agreed"
        valuePropName="checked"
        extra={standing?.agreed_at ? t('join.agreed', { date: dateText(standing.agreed_at, language) }) : undefined}
        rules={[rule((isAgreed: boolean) => isAgreed, t('join.agreeRequired'))]}
      >
        <Checkbox>{t('join.agree')}</Checkbox>
      </Form.Item>
      <ActionError title={t('join.failed')} action={agree} />
      <Button type="primary" size="large" htmlType="submit" loading={agree.isPending || isSigning}>
        {user ? t('join.pay', { amount }) : t('join.signIn')}
      </Button>
    </CheckedForm>
  );
}

/** The rest of a deposit that was paid in part, else all of it. */
function missing({ membership, standing }: DeveloperProgram): string {
  const deposit = standing?.deposit;
  return deposit?.status === 'held' ? deposit.amount_missing : (membership?.amount ?? '0');
}
