import { DatePicker, type DatePickerProps, Typography } from 'antd';
import dayjs from 'dayjs';
import { useTexts } from './texts';

/** Dates can be typed in this format in both languages. */
const TYPED = 'YYYY-MM-DD HH:mm';

/** Shown dates, as `dateTimeText` writes them, and their times. */
const SHOWN = {
  en: { date: 'MMM D, YYYY, h:mm A', time: 'h:mm A' },
  zh: { date: 'YYYY年M月D日 HH:mm', time: 'HH:mm' },
} as const;

interface DateTimeFieldProps extends DatePickerProps {
  /** The earliest selectable time, in Unix seconds. */
  from: number;
}

/**
 * A date with its time in the reader's time zone, picked or typed. Enter confirms the typed date without submitting the form.
 */
export function DateTimeField({ from, ...rest }: DateTimeFieldProps) {
  const { t, language } = useTexts();
  return (
    <div>
      <DatePicker
        showTime={{ format: SHOWN[language].time }}
        format={[SHOWN[language].date, TYPED]}
        placeholder={TYPED}
        defaultPickerValue={dayjs.unix(from)}
        needConfirm={false}
        // Its button is too small to be hit with a finger, and every use of the field requires a time.
        allowClear={false}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault();
        }}
        {...rest}
      />
      <div>
        <Typography.Text type="secondary">
          {t('date.timeZone', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}
        </Typography.Text>
      </div>
    </div>
  );
}
