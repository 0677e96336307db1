import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input, Select } from 'antd';
import { ApiError } from '@/api/error';
import type { ManagedCategory, Text } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import {
  CATEGORY_NAME_MAX,
  categoryName,
  changeCategory,
  createCategory,
  hasNameCharacters,
  isShortEnough,
} from './categories';
import { useTexts } from './texts';

const FORM = 'category';
const LANGUAGES = ['en', 'zh'] as const;
type NameLanguage = (typeof LANGUAGES)[number];
const LABELS = { en: 'categories.nameEn', zh: 'categories.nameZh' } as const;

interface Values extends Text {
  position: number;
}

interface CategoryDialogProps {
  /** The category to edit; none: a new one is created. */
  category?: ManagedCategory;
  /** All categories in their order. */
  categories: ManagedCategory[];
  onClose: () => void;
  onDone: (saved: ManagedCategory) => void;
}

/** The language whose name another category has. */
const takenLanguage = (error: unknown): NameLanguage | undefined =>
  error instanceof ApiError && error.code === 'CATEGORY_NAME_TAKEN'
    ? LANGUAGES.find((language) => language === error.params.language)
    : undefined;

/** Creates a category, or changes its names and its place. */
export function CategoryDialog({ category, categories, onClose, onDone }: CategoryDialogProps) {
  const { t, language } = useTexts();
  const [form] = Form.useForm<Values>();
  const others = categories.filter(({ id }) => id !== category?.id);
  const position = category ? categories.findIndex(({ id }) => id === category.id) : others.length;
  const nameOf = ({ name }: ManagedCategory) => name[language] || name.en;
  const save = useMutation({
    mutationFn: ({ position: chosen, ...typed }: Values) => {
      const name = { en: categoryName(typed.en), zh: categoryName(typed.zh) };
      if (!category) return createCategory(name);
      const isRenamed = LANGUAGES.some((each) => name[each] !== category.name[each]);
      // What somebody else changes meanwhile stays.
      return changeCategory(category.id, {
        ...(isRenamed ? { name } : {}),
        ...(chosen === position ? {} : { position: chosen }),
      });
    },
    onSuccess: onDone,
    onError: (error, values) => {
      const taken = takenLanguage(error);
      if (!taken) return;
      form.setFields([{ name: taken, errors: [t('categories.nameTaken', { name: categoryName(values[taken]) })] }]);
      form.focusField(taken);
    },
  });
  return (
    <Dialog
      title={category ? t('categories.editTitle', { name: nameOf(category) }) : t('categories.create')}
      isBusy={save.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={save.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={save.isPending}>
            {category ? t('action.save') : t('categories.createAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <CheckedForm<Values>
          name={FORM}
          form={form}
          initialValues={{ en: category?.name.en ?? '', zh: category?.name.zh ?? '', position }}
          onFinish={(values) => save.mutate({ ...values, position: values.position ?? position })}
        >
          {LANGUAGES.map((each) => (
            <Form.Item<Values>
              key={each}
              name={each}
              label={t(LABELS[each])}
              extra={each === 'en' && category ? t('categories.slugHint', { slug: category.slug }) : undefined}
              rules={[
                rule(
                  (name?: string) => categoryName(name) !== '',
                  t('categories.nameRequired', { name: t(LABELS[each]) }),
                ),
                rule(isShortEnough, t('categories.nameTooLong', { max: CATEGORY_NAME_MAX })),
                rule(hasNameCharacters, t('categories.nameCharacters')),
              ]}
            >
              <Input autoComplete="off" lang={each} />
            </Form.Item>
          ))}
          {category && others.length > 0 ? (
            <Form.Item<Values> name="position" label={t('categories.place')}>
              <Select
                options={[
                  { value: 0, label: t('categories.placeFirst') },
                  ...others.map((other, index) => ({
                    value: index + 1,
                    label: t('categories.placeAfter', { name: nameOf(other) }),
                  })),
                ]}
              />
            </Form.Item>
          ) : null}
        </CheckedForm>
        {takenLanguage(save.error) ? null : (
          <ActionError title={t(category ? 'categories.notSaved' : 'categories.notCreated')} action={save} />
        )}
      </div>
    </Dialog>
  );
}
