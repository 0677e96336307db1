import { Form, type FormProps, type FormRule } from 'antd';
import { type ReactNode, useState } from 'react';
import styles from './form.module.css';

type CheckedFormProps<Values> = Omit<FormProps<Values>, 'children'> & { name: string; children: ReactNode };

/**
 * A form that validates on submit and, after an error, on each change. The first invalid field gets the focus. `name`
 * is the id of the form, for a submit button outside of it, and the prefix of its field ids.
 */
export function CheckedForm<Values>({ children, ...rest }: CheckedFormProps<Values>) {
  const [checked, setChecked] = useState(false);
  return (
    <Form<Values>
      className={styles.form}
      layout="vertical"
      requiredMark={false}
      validateTrigger={checked ? 'onChange' : 'onSubmit'}
      scrollToFirstError={{ focus: true }}
      onFinishFailed={() => setChecked(true)}
      {...rest}
    >
      {children}
    </Form>
  );
}

/** A validation rule. antd shows the text below the field; the role makes screen readers announce it. */
export const rule = <Value,>(isValid: (value: Value) => boolean, text: string): FormRule => ({
  validator: (_, value: Value) => (isValid(value) ? Promise.resolve() : Promise.reject(new Error(text))),
  message: <span role="alert">{text}</span>,
});
