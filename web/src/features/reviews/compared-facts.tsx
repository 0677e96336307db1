import { Typography } from 'antd';
import type { ComparedValue, DependencyNeed, VersionComparison } from '@/api/types';
import { RecordTable } from '@/features/billing/record-table';
import comparisonTexts from '@/i18n/en/comparison.json';
import { type ComparisonTexts, useComparisonTexts } from './comparison-texts';
import { visibleText } from './visible-text';

type FieldKey = Extract<keyof typeof comparisonTexts, `compare.field.${string}`>;

interface Row {
  id: string;
  name: string;
  before: string | null;
  after: string | null;
}

/** The name of a field of the manifest; one of a later server has no text here. */
const fieldName = (name: string, t: ComparisonTexts['t']) =>
  `compare.field.${name}` in comparisonTexts ? t(`compare.field.${name}` as FieldKey) : name;

function needText(need: DependencyNeed | null, t: ComparisonTexts['t']): string | null {
  if (!need) return null;
  const version = need.version || t('compare.any');
  return need.required ? version : t('compare.optional', { version });
}

/** All facts that differ, in one list. */
export function factRows(comparison: VersionComparison, t: ComparisonTexts['t']): Row[] {
  const granted = t('compare.granted');
  const permission = (before: string | null, after: string | null) => (name: string) => ({
    id: `permission ${name}`,
    name: t('compare.permission', { name }),
    before,
    after,
  });
  const value = (name: string, text: string | null) => {
    if (text === 'true') return t('compare.yes');
    return text === null && name === 'docker' ? t('compare.no') : text;
  };
  return [
    ...comparison.permissions_added.map(permission(null, granted)),
    ...comparison.permissions_removed.map(permission(granted, null)),
    ...comparison.scripts.map(({ name, before, after }) => ({
      id: `script ${name}`,
      name: t('compare.script', { name }),
      before,
      after,
    })),
    ...comparison.dependencies.map(({ name, before, after }) => ({
      id: `dependency ${name}`,
      name: t('compare.dependency', { name }),
      before: needText(before, t),
      after: needText(after, t),
    })),
    ...comparison.fields.map(({ name, before, after }: ComparedValue) => ({
      id: `field ${name}`,
      name: fieldName(name, t),
      before: value(name, before),
      after: value(name, after),
    })),
  ];
}

/** Permissions, scripts, dependencies and fields of the listing that differ. */
export function ComparedFacts({ comparison }: { comparison: VersionComparison }) {
  const { t } = useComparisonTexts();
  const rows = factRows(comparison, t);
  const side = (text: string | null) =>
    text === null ? <Typography.Text type="secondary">{t('compare.nothing')}</Typography.Text> : visibleText(text);
  if (rows.length === 0) return <Typography.Text type="secondary">{t('compare.none')}</Typography.Text>;
  return (
    <RecordTable<Row>
      label={t('compare.facts')}
      list={rows}
      isLoading={false}
      columns={[
        { key: 'name', title: t('compare.name'), render: (_, { name }) => visibleText(name) },
        { key: 'before', title: t('compare.before'), render: (_, { before }) => side(before) },
        { key: 'after', title: t('compare.after'), render: (_, { after }) => side(after) },
      ]}
    />
  );
}
