import { Typography } from 'antd';
import type { ComparedText, DiffHunk, DiffLine } from '@/api/types';
import styles from './comparison.module.css';
import { useComparisonTexts } from './comparison-texts';
import { visibleText } from './visible-text';

/** The lines that differ in the listing's texts, with some lines around them. */
export function ComparedTexts({ texts }: { texts: ComparedText[] }) {
  const { t } = useComparisonTexts();
  const shown = texts.filter(({ hunks, cut }) => hunks.length > 0 || cut);
  if (shown.length === 0) return <Typography.Text type="secondary">{t('compare.none')}</Typography.Text>;
  return shown.map((text) => <OneText key={`${text.kind} ${text.path}`} text={text} />);
}

function OneText({ text: { kind, path, hunks, cut } }: { text: ComparedText }) {
  const { t } = useComparisonTexts();
  const name = t(`compare.text.${kind}`, { path: visibleText(path) });
  return (
    <div className={styles.text}>
      <Typography.Title level={4} style={{ marginTop: 0 }}>
        {name}
      </Typography.Title>
      {hunks.length > 0 ? (
        <div className={styles.scroll}>
          <table className={styles.diff} aria-label={name}>
            <tbody>
              {hunks.map((hunk) => (
                <Hunk key={`${hunk.before} ${hunk.after}`} hunk={hunk} />
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p>{t('compare.none')}</p>
      )}
      {cut ? <Typography.Text type="secondary">{t('compare.textCut')}</Typography.Text> : null}
    </div>
  );
}

const SIGNS = { same: ' ', added: '+', removed: '-' } as const;

/** The number of each line in the version that has it. */
function numbered({ before, after, lines }: DiffHunk): (DiffLine & { number: number; key: string })[] {
  let [left, right] = [before, after];
  return lines.map((line) => {
    const number = line.change === 'removed' ? left : right;
    if (line.change !== 'added') left += 1;
    if (line.change !== 'removed') right += 1;
    return { ...line, number, key: `${line.change} ${number}` };
  });
}

function Hunk({ hunk }: { hunk: DiffHunk }) {
  const { t } = useComparisonTexts();
  return (
    <>
      <tr>
        <th colSpan={3} scope="rowgroup" className={styles.place}>
          {t('compare.lines', { before: hunk.before, after: hunk.after })}
        </th>
      </tr>
      {numbered(hunk).map(({ key, change, number, text }) => (
        <tr key={key} className={styles[change]}>
          <td className={styles.number}>{number}</td>
          <td className={styles.sign}>
            {change === 'same' ? null : (
              <>
                <span aria-hidden="true">{SIGNS[change]}</span>
                <span className="sr-only">{t(`compare.${change}`)}</span>
              </>
            )}
          </td>
          <td className={styles.line}>{visibleText(text)}</td>
        </tr>
      ))}
    </>
  );
}
