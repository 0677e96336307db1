import { Typography } from 'antd';
import type { ComparedPicture, ShownPicture, VersionComparison } from '@/api/types';
import { sizeText } from '@/lib/format';
import styles from './comparison.module.css';
import { useComparisonTexts } from './comparison-texts';
import { pictureUrl } from './queries';

interface ComparedPicturesProps {
  did: string;
  comparison: VersionComparison;
}

/** The logo and the screenshots, those before beside those after. */
export function ComparedPictures({ did, comparison: { version, base, pictures } }: ComparedPicturesProps) {
  const { t } = useComparisonTexts();
  return pictures.map((picture) => (
    <PictureRow
      key={picture.number ?? 'logo'}
      picture={picture}
      name={picture.number === null ? t('compare.logo') : t('compare.screenshot', { number: picture.number })}
      before={picture.before && base ? pictureUrl(did, base, picture.before.sha256) : null}
      after={picture.after ? pictureUrl(did, version, picture.after.sha256) : null}
    />
  ));
}

interface PictureRowProps {
  picture: ComparedPicture;
  name: string;
  before: string | null;
  after: string | null;
}

function PictureRow({ picture, name, before, after }: PictureRowProps) {
  const { t } = useComparisonTexts();
  return (
    <div className={styles.picture}>
      <p>
        {name}
        {picture.changed ? null : <Typography.Text type="secondary"> · {t('compare.pictureSame')}</Typography.Text>}
      </p>
      <div className={styles.sides}>
        <Side url={before} picture={picture.before} name={name} side={t('compare.before')} />
        <Side url={after} picture={picture.after} name={name} side={t('compare.after')} />
      </div>
    </div>
  );
}

interface SideProps {
  url: string | null;
  picture: ShownPicture | null;
  name: string;
  side: string;
}

function Side({ url, picture, name, side }: SideProps) {
  const { t, language } = useComparisonTexts();
  return (
    <figure className={styles.side}>
      <figcaption>
        {side}
        {picture ? ` · ${sizeText(picture.size, language)}` : null}
      </figcaption>
      {url && picture ? (
        <img src={url} alt={t('compare.pictureOf', { picture: name, side })} loading="lazy" />
      ) : (
        <Typography.Text type="secondary">{t('compare.nothing')}</Typography.Text>
      )}
    </figure>
  );
}
