import { Flex, Radio, type RadioGroupProps, Typography } from 'antd';
import styles from './option-list.module.css';

export interface Option<V extends string = string> {
  value: V;
  title: string;
  /** A second line. */
  detail?: string;
  /** At the end of the line, such as an amount. */
  aside?: string;
  /** It cannot be chosen; `detail` says why. */
  disabled?: boolean;
}

interface OptionListProps<V extends string> extends Omit<RadioGroupProps, 'options' | 'onChange' | 'value'> {
  /** The name of the group for screen readers. */
  label: string;
  options: Option<V>[];
  value?: V;
  onChange?: (value: V) => void;
}

/** One choice of several, each on a line of its own. */
export function OptionList<V extends string>({ label, options, value, onChange, ...rest }: OptionListProps<V>) {
  return (
    <Radio.Group
      {...rest}
      vertical
      className={styles.list}
      aria-label={label}
      value={value}
      onChange={(event) => onChange?.(event.target.value)}
      options={options.map(({ value: each, title, detail, aside, disabled }) => ({
        value: each,
        disabled,
        label: (
          <Flex justify="space-between" gap={16} className={styles.option}>
            <span>
              <span className={styles.title}>{title}</span>
              {detail ? <Typography.Text type="secondary">{detail}</Typography.Text> : null}
            </span>{' '}
            {aside ? <span className="money">{aside}</span> : null}
          </Flex>
        ),
      }))}
    />
  );
}
