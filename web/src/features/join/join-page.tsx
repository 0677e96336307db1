import { useQuery } from '@tanstack/react-query';
import { Flex, Typography } from 'antd';
import type { DeveloperProgram } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useStore } from '@/app/queries';
import { Note } from '@/features/billing/dialog';
import { LinkButton } from '@/features/billing/link-button';
import { LoadError, Loading, PageResult, Section } from '@/features/billing/states';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { JoinForm } from './join-form';
import { Membership } from './membership';
import { joinState, programQuery } from './program';
import { Terms } from './terms';
import { useTexts } from './texts';

const BENEFITS = ['publish', 'tools', 'checks', 'reach', 'sell'] as const;

/** The page where a user becomes a developer by a deposit (SPEC.md 2), and where a developer leaves. */
export function JoinPage() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(programQuery);
  usePageTitle(t('join.title'));
  if (error && !data) return <LoadError title={t('join.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading title rows={8} />;
  const state = joinState(data);
  if (state === 'blocked')
    return (
      <PageResult
        status="error"
        title={t('join.blocked')}
        text={t('join.blockedText')}
        action={<LinkButton to="/">{t('join.toStore')}</LinkButton>}
      />
    );
  if (state === 'developer') return <Membership program={data} />;
  return <Offer program={data} isOpen={state === 'open'} />;
}

function Offer({ program, isOpen }: { program: DeveloperProgram; isOpen: boolean }) {
  const { t } = useTexts();
  const store = useStore();
  return (
    <Flex vertical gap={32} align="stretch" style={{ maxWidth: 720, marginInline: 'auto' }}>
      <div>
        <Typography.Title level={1} style={{ overflowWrap: 'anywhere' }}>
          {t('join.heading', { name: store?.name ?? 'Souk' })}
        </Typography.Title>
        <Typography.Text type="secondary">{t('join.lead')}</Typography.Text>
      </div>
      <Section id="benefits" title={t('join.benefits')}>
        <ul>
          {BENEFITS.filter((benefit) => benefit !== 'sell' || program.paid_apps_allowed).map((benefit) => (
            <li key={benefit}>{t(`join.benefit.${benefit}`)}</li>
          ))}
        </ul>
      </Section>
      <Deposit program={program} />
      <Terms version={program.terms_version} />
      {isOpen ? <JoinForm program={program} /> : null}
    </Flex>
  );
}

/** What the deposits cost, and what becomes of a former one. */
function Deposit({ program: { membership, publication, standing } }: { program: DeveloperProgram }) {
  const { t, language } = useTexts();
  const deposit = standing?.deposit;
  const former =
    deposit?.status === 'releasing' && deposit.paymentCurrency
      ? formatMoney(deposit.amount_remaining, deposit.paymentCurrency, language)
      : null;
  if (!membership) return <Note type="warning" title={t('join.unavailable')} description={t('join.unavailableText')} />;
  return (
    <Section id="deposit" title={t('join.deposit')}>
      <Flex vertical gap={12}>
        <div>
          {t('join.depositText', {
            amount: formatMoney(membership.amount, membership.currency, language),
            count: membership.waiting_days,
          })}
        </div>
        {publication ? (
          <div>
            {t('join.depositApps', {
              amount: formatMoney(publication.amount, publication.currency, language),
              count: publication.waiting_days,
            })}
          </div>
        ) : null}
        <div>{t('join.depositRevoke')}</div>
        {membership.currency.livemode === false ? <Note type="info" title={t('join.test')} /> : null}
        {deposit?.status === 'held' && deposit.amount_missing !== '0' && deposit.paymentCurrency ? (
          <Note
            type="info"
            title={t('join.part', { amount: formatMoney(deposit.amount_remaining, deposit.paymentCurrency, language) })}
            description={t('join.partText', {
              missing: formatMoney(deposit.amount_missing, deposit.paymentCurrency, language),
            })}
          />
        ) : null}
        {former && deposit?.release_reason === 'revoked' ? (
          <Note type="info" title={t('join.revoked')} description={t('join.revokedText', { amount: former })} />
        ) : null}
        {former && deposit?.release_reason !== 'revoked' ? (
          <Note
            type="info"
            title={t('join.returning')}
            description={
              deposit?.return_at
                ? t('join.returningText', { amount: former, date: dateText(deposit.return_at * 1000, language) })
                : t('join.returningSoon', { amount: former })
            }
          />
        ) : null}
      </Flex>
    </Section>
  );
}
