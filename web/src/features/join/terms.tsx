import { Typography } from 'antd';
import { useTexts } from './texts';

/** The sections of the terms with the number of their paragraphs. Their version is the server's (`publishing/staking/terms`). */
const SECTIONS = { agreement: 4, privacy: 3, program: 4 } as const;
type Section = keyof typeof SECTIONS;
type Paragraph = 1 | 2 | 3 | 4;

/** The terms that a developer agrees to. */
export function Terms({ version }: { version: number }) {
  const { t } = useTexts();
  const paragraphs = (section: Section) => Array.from({ length: SECTIONS[section] }, (_, index) => index + 1);
  const text = (section: Section, paragraph: number) =>
    t(`terms.${section}.${paragraph as Paragraph}` as Parameters<typeof t>[0]);
  return (
    <section aria-labelledby="terms">
      <Typography.Title level={2} id="terms">
        {t('join.terms', { version })}
      </Typography.Title>
      {(Object.keys(SECTIONS) as Section[]).map((section) => (
        <div key={section}>
          <Typography.Title level={3}>{t(`terms.${section}.title`)}</Typography.Title>
          <ul>
            {paragraphs(section).map((paragraph) => (
              <li key={paragraph}>{text(section, paragraph)}</li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
