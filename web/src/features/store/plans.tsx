import { Link } from '@tanstack/react-router';
import type { AppPlan } from '@/api/types';
import { useTexts } from '@/app/i18n';
import en from '@/i18n/en/plans.json';
import { translator } from '@/i18n/light';
import { suffixText } from '@/i18n/price';
import zh from '@/i18n/zh/plans.json';
import { ButtonLink } from '@/kit/button';
import styles from './plans.module.css';
import { priceOf } from './price';
import { checkoutUrl } from './queries';

const t = translator({ en, zh });

/** The plans of an app: price, interval and trial. */
export function Plans({ plans }: { plans: AppPlan[] }) {
  const purchasable = plans.filter(({ prices }) => prices.length > 0);
  if (purchasable.length === 0) return null;
  return (
    <section aria-labelledby="plans">
      <h2 id="plans" className={styles.title}>
        {t('plans.title')}
      </h2>
      <p className={styles.quiet}>{t('plans.lead')}</p>
      <ul className={styles.plans}>
        {purchasable.map((plan) => (
          <Plan key={plan.payment_link_id} plan={plan} />
        ))}
      </ul>
    </section>
  );
}

function Plan({ plan }: { plan: AppPlan }) {
  const { text, language } = useTexts();
  const name = text(plan.name);
  const [first, ...others] = plan.prices.map((price) => priceOf(price, language));
  const count = plan.trial_days;
  return (
    <li className={styles.plan}>
      <div className={styles.description}>
        <h3>{name}</h3>
        <p className={styles.quiet}>{text(plan.description)}</p>
      </div>
      <p className="money">
        <strong className={styles.price}>{first}</strong>{' '}
        {suffixText(plan.unit_label && text(plan.unit_label), plan.recurring, language)}
        {others.length > 0 ? (
          <span className={styles.others}>{t('plans.or', { prices: others.join(', ') })}</span>
        ) : null}
      </p>
      {plan.subscription_id ? (
        <Manage id={plan.subscription_id} name={name} />
      ) : (
        <ButtonLink
          href={checkoutUrl(plan.payment_link_id)}
          aria-label={count > 0 ? t('plans.tryOf', { name, count }) : t('plans.subscribeTo', { name })}
        >
          {count > 0 ? t('plans.try', { count }) : t('plans.subscribe')}
        </ButtonLink>
      )}
    </li>
  );
}

/** Subscribers go to their subscription. */
function Manage({ id, name }: { id: string; name: string }) {
  return (
    <Link
      to="/customer/subscription/$id"
      params={{ id }}
      className="k-button k-button-secondary"
      aria-label={t('plans.manageOf', { name })}
    >
      {t('plans.manage')}
    </Link>
  );
}
