import { Form, type FormProps, type FormRule } from 'antd';
import { type ReactNode, useState } from 'react';

type CheckedFormProps<Values> = Omit<FormProps<Values>, 'children'> & { name: string; children: ReactNode };

/**
 * A form whose fields are checked when it is sent and, once something was wrong, on each change. The first wrong field takes
 * the focus. Its name is the id of the form, for a button outside of it, and begins the ids of its fields.
 */
export function CheckedForm<Values>({ children, ...rest }: CheckedFormProps<Values>) {
  const [checked, setChecked] = useState(false);
  return (
    <Form<Values>
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

/** A rule of a field. antd shows the text below the field; the role has it announced as well. */
export const rule = <Value,>(isValid: (value: Value) => boolean, text: string): FormRule => ({
  validator: (_, value: Value) => (isValid(value) ? Promise.resolve() : Promise.reject(new Error(text))),
  message: <span role="alert">{text}</span>,
});
