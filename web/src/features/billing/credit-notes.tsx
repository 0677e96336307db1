import { FilePdfOutlined } from '@ant-design/icons';
import { Flex, Table, Typography } from 'antd';
import { apiUrl } from '@/api/client';
import type { CreditNote, InvoiceDetail } from '@/api/types';
import { dateText } from '@/lib/format';
import { creditTexts } from './invoice-text';
import styles from './pages.module.css';
import { Section } from './states';
import { useTexts } from './texts';

interface CreditNotesProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

/** The credit notes of an invoice, each with its reason, where its money went, and its PDF. */
export function CreditNotes({ invoice, money }: CreditNotesProps) {
  const { t } = useTexts();
  const notes = invoice.credit_notes ?? [];
  if (notes.length === 0) return null;
  return (
    <Section id="credit-notes" title={t('credit.notes')}>
      <Table<CreditNote>
        aria-label={t('credit.notes')}
        rowKey="id"
        showHeader={false}
        pagination={false}
        dataSource={notes}
        columns={[
          { key: 'note', render: (_, note) => <CreditNoteText note={note} invoice={invoice} money={money} /> },
          {
            key: 'amount',
            align: 'end',
            width: 1,
            className: 'money',
            render: (_, { total }) => <strong>{money(total)}</strong>,
          },
        ]}
      />
    </Section>
  );
}

interface CreditNoteTextProps {
  note: CreditNote;
  /** Tells the state of the refunds, where it is known. */
  invoice?: InvoiceDetail;
  money: CreditNotesProps['money'];
}

/** Number, reason, note of the store, date, and where the money went. */
export function CreditNoteText({ note, invoice, money }: CreditNoteTextProps) {
  const { t, language } = useTexts();
  return (
    <Flex vertical align="start" className={styles.entry}>
      {note.number}
      <Typography.Text type="secondary">
        {t(`credit.reason.${note.reason}`)} ·{' '}
        <time dateTime={note.created_at}>{dateText(note.created_at, language)}</time>
      </Typography.Text>
      {note.memo ? <Typography.Text type="secondary">{note.memo}</Typography.Text> : null}
      {creditTexts(note, invoice, { t }, money).map((text) => (
        <Typography.Text key={text} type="secondary" className="figures">
          {text}
        </Typography.Text>
      ))}
      <CreditNotePdf note={note} />
    </Flex>
  );
}

/** The PDF of a credit note in the language of the page. */
function CreditNotePdf({ note }: { note: Pick<CreditNote, 'id' | 'number'> }) {
  const { t } = useTexts();
  return (
    <a
      href={apiUrl(`/api/credit-notes/${encodeURIComponent(note.id)}/pdf`)}
      download
      aria-label={t('credit.pdfOf', { number: note.number })}
    >
      <FilePdfOutlined aria-hidden="true" /> {t('credit.pdf')}
    </a>
  );
}
