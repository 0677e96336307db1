import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Alert, Button, Flex, Typography } from 'antd';
import type { Examination } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { LoadError, Loading } from '@/features/billing/states';
import doctorTexts from '@/i18n/en/doctor.json';
import { sizeText } from '@/lib/format';
import { Forbidden } from './forbidden';
import { examinationQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { type Texts, useTexts } from './texts';

type Finding = Examination['list'][number];
type FindingKey = Extract<keyof typeof doctorTexts, `doctor.finding.${string}`>;
type RemedyKey = Extract<keyof typeof doctorTexts, `doctor.remedy.${string}`>;

const TYPES = { error: 'error', warning: 'warning', notice: 'info' } as const;
/** Parameters in bytes. */
const SIZES = ['free', 'reserve'];

/** What is wrong or risky with the installation, each with its remedy. */
export function DoctorPage() {
  const { t } = useTexts();
  const user = useUser();
  usePageTitle(t('doctor.title'));
  return (
    <RequireAdmin>
      {user && user.role !== 'owner' ? <Forbidden title={t('doctor.owners')} /> : <Findings />}
    </RequireAdmin>
  );
}

function Findings() {
  const texts = useTexts();
  const { t } = texts;
  const { data, error, isFetching, refetch } = useQuery(examinationQuery);
  return (
    <Flex vertical gap={24} align="stretch" style={{ maxWidth: 820 }}>
      <div>
        <Typography.Title level={1}>{t('doctor.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('doctor.lead')}</Typography.Text>
      </div>
      {error && !data ? (
        <LoadError title={t('doctor.error')} error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Loading rows={6} />
      ) : (
        <>
          {data.list.length === 0 ? <Alert type="success" showIcon role="note" title={t('doctor.fine')} /> : null}
          {data.list.map((finding) => (
            <FindingNote key={`${finding.code}${JSON.stringify(finding.params)}`} finding={finding} texts={texts} />
          ))}
          <Flex gap={16} align="center" wrap>
            <Button loading={isFetching} onClick={() => void refetch()}>
              {t('doctor.again')}
            </Button>
            <Typography.Text type="secondary">{t('doctor.version', { version: data.version })}</Typography.Text>
          </Flex>
        </>
      )}
    </Flex>
  );
}

function FindingNote({ finding, texts }: { finding: Finding; texts: Texts }) {
  const { t, language } = texts;
  const values = Object.fromEntries(
    Object.entries(finding.params).map(([name, value]) => [
      name,
      SIZES.includes(name) ? sizeText(Number(value), language) : value,
    ]),
  );
  const isKnown = `doctor.finding.${finding.code}` in doctorTexts;
  // A finding of a later version has no text here.
  const title = isKnown ? t(`doctor.finding.${finding.code}` as FindingKey, values as never) : finding.code;
  return (
    <Alert
      type={TYPES[finding.severity]}
      showIcon
      role="note"
      title={
        <>
          <strong>{t(`doctor.severity.${finding.severity}`)}</strong> · {title}
        </>
      }
      description={
        <Flex vertical gap={8} align="flex-start">
          {isKnown ? t(`doctor.remedy.${finding.code}` as RemedyKey, values as never) : null}
          <FindingLink finding={finding} texts={texts} />
        </Flex>
      }
    />
  );
}

/** Where the owner acts on a finding, if the store has a page for it. */
function FindingLink({ finding: { code, params }, texts: { t } }: { finding: Finding; texts: Texts }) {
  if (code === 'holds') return <Link to="/console/on-hold">{t('doctor.open.holds')}</Link>;
  if (code === 'held_payments')
    return (
      <Link to="/console/on-hold" hash="payments">
        {t('doctor.open.held_payments')}
      </Link>
    );
  if (code === 'held_transfers')
    return (
      <Link to="/console/on-hold" hash="transfers">
        {t('doctor.open.held_transfers')}
      </Link>
    );
  if (code === 'no_owner_email') return <Link to="/profile">{t('doctor.open.profile')}</Link>;
  if (params.method)
    return (
      <Link to="/console/payment-methods/$id" params={{ id: params.method }}>
        {t('doctor.open.method')}
      </Link>
    );
  return null;
}
