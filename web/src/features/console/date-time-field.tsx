import { DatePicker, type DatePickerProps } from 'antd';
import dayjs from 'dayjs';

/** How dates are typed and shown, in the reader's time zone. */
const FORMAT = 'YYYY-MM-DD HH:mm';

interface DateTimeFieldProps extends DatePickerProps {
  /** The time from which on a date can be chosen, in Unix seconds. */
  from: number;
}

/** A date with its time, picked or typed. Enter confirms what was typed and does not send the form. */
export function DateTimeField({ from, ...rest }: DateTimeFieldProps) {
  return (
    <DatePicker
      showTime={{ format: 'HH:mm' }}
      format={FORMAT}
      placeholder={FORMAT}
      defaultPickerValue={dayjs.unix(from)}
      needConfirm={false}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.preventDefault();
      }}
      {...rest}
    />
  );
}
