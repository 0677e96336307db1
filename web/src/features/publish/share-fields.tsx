import { DeleteOutlined, PlusOutlined } from '@ant-design/icons';
import { Button, Form, type FormInstance, Input, Typography } from 'antd';
import { rule } from '@/features/billing/form';
import { useSellingTexts } from '@/features/reviews/selling-texts';
import type { PriceValues } from './price-dialog';
import { isTwice, millionths, percentText, SHARES_MAX, type ShareInput, sharesMost, sharesSum } from './selling';
import styles from './share-fields.module.css';

interface ShareFieldsProps {
  form: FormInstance<PriceValues>;
  /** The commission of the store in percent. */
  commission: string;
}

/** The beneficiaries of a price with their percentages, the field `shares` of its form. */
export function ShareFields({ form, commission }: ShareFieldsProps) {
  const { t } = useSellingTexts();
  const most = sharesMost(commission);
  const typed = (): (ShareInput | undefined)[] => form.getFieldValue('shares') ?? [];
  return (
    <fieldset className={styles.shares}>
      <legend>{t('shares.title')}</legend>
      <Typography.Text type="secondary">{t('shares.text', { most: percentText(most) })}</Typography.Text>
      <Form.List
        name="shares"
        rules={[
          {
            validator: () =>
              sharesSum(typed()) <= most
                ? Promise.resolve()
                : Promise.reject(new Error(t('shares.most', { most: percentText(most) }))),
          },
        ]}
      >
        {(fields, { add, remove }, { errors }) => (
          <>
            {fields.map(({ key, name }) => (
              <div key={key} className={styles.share}>
                <Form.Item
                  name={[name, 'beneficiary']}
                  label={t('shares.beneficiary', { number: name + 1 })}
                  rules={[
                    rule((did?: string) => Boolean(did?.trim()), t('shares.beneficiaryRequired')),
                    rule(() => !isTwice(typed(), name), t('shares.twice')),
                  ]}
                >
                  <Input autoComplete="off" spellCheck={false} />
                </Form.Item>
                <Form.Item
                  name={[name, 'percent']}
                  label={t('shares.percent', { number: name + 1 })}
                  rules={[rule((percent?: string) => millionths(percent) !== null, t('shares.percentWrong'))]}
                >
                  <Input inputMode="decimal" autoComplete="off" suffix="%" />
                </Form.Item>
                <Button
                  icon={<DeleteOutlined aria-hidden="true" />}
                  aria-label={t('shares.remove', { number: name + 1 })}
                  onClick={() => remove(name)}
                />
              </div>
            ))}
            {errors.length > 0 ? (
              <div role="alert">
                <Typography.Text type="danger">{errors}</Typography.Text>
              </div>
            ) : null}
            <Button
              icon={<PlusOutlined aria-hidden="true" />}
              disabled={fields.length >= SHARES_MAX}
              onClick={() => add()}
            >
              {t('shares.add')}
            </Button>
          </>
        )}
      </Form.List>
    </fieldset>
  );
}
