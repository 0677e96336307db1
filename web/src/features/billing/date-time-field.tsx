import { DatePicker, type DatePickerProps } from 'antd';
import dayjs from 'dayjs';

/** The format of typed and shown dates, in the reader's time zone. */
const FORMAT = 'YYYY-MM-DD HH:mm';

interface DateTimeFieldProps extends DatePickerProps {
  /** The earliest selectable time, in Unix seconds. */
  from: number;
}

/** A date with its time, picked or typed. Enter confirms the typed date without submitting the form. */
export function DateTimeField({ from, ...rest }: DateTimeFieldProps) {
  return (
    <DatePicker
      showTime={{ format: 'HH:mm' }}
      format={FORMAT}
      placeholder={FORMAT}
      defaultPickerValue={dayjs.unix(from)}
      needConfirm={false}
      // Its button is too small to be hit with a finger, and every use of the field requires a time.
      allowClear={false}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.preventDefault();
      }}
      {...rest}
    />
  );
}
