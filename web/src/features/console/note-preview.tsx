import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Descriptions, Spin, Typography } from 'antd';
import { useEffect, useState } from 'react';
import { api } from '@/api/client';
import type { CreditNotePreview, PaymentCurrency } from '@/api/types';
import { Note } from '@/features/billing/dialog';
import { translateError } from '@/i18n/translate';
import { formatMoney, toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { endsAccess, type NoteOrder } from './note-order';

/** The preview loads after this pause in typing. */
const DEBOUNCE_MS = 300;

/** The preview of the order at this moment; null while the order is incomplete. */
export function useNotePreview(order: NoteOrder | null) {
  const request = order ? JSON.stringify({ ...order, memo: undefined }) : null;
  const [debounced, setDebounced] = useState(request);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(request), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [request]);
  const { data, error, isFetching } = useQuery({
    queryKey: ['credit-notes', 'preview', debounced],
    queryFn: () => api.post<CreditNotePreview>('/api/credit-notes/preview', JSON.parse(debounced ?? '{}')),
    enabled: debounced !== null,
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const isCurrent = request !== null && request === debounced && !isFetching;
  return {
    preview: request === null || error ? null : (data ?? null),
    error: request === null ? null : error,
    isCurrent,
  };
}

interface PreviewProps {
  state: ReturnType<typeof useNotePreview>;
  currency: PaymentCurrency;
  /** The administrator has chosen to keep the customer's access. */
  keepsAccess: boolean;
}

/** The height of two rows, reserved while the preview loads: the dialog is centered and would move. */
const PREVIEW_HEIGHT = 80;

const DESTINATIONS = [
  ['due_reduced', 'note.dueReduced'],
  ['refunded', 'note.refunded'],
  ['to_balance', 'note.toBalance'],
] as const;

/** Where the money of a credit note would go, and whether the customer loses what the items paid for. */
export function NotePreview(props: PreviewProps) {
  return (
    <div style={{ minHeight: PREVIEW_HEIGHT }}>
      <PreviewContent {...props} />
    </div>
  );
}

function PreviewContent({ state: { preview, error, isCurrent }, currency, keepsAccess }: PreviewProps) {
  const { t, language } = useAdminTexts();
  if (error) return <Note type="error" title={t('note.notPreviewed')} description={translateError(error)} />;
  if (!preview) return <Typography.Text type="secondary">{t('note.previewEmpty')}</Typography.Text>;
  const money = (units: string) => formatMoney(units, currency, language);
  const destinations = DESTINATIONS.filter(([field]) => toUnits(preview[field]) > 0n);
  return (
    <section aria-label={t('note.preview')} aria-busy={!isCurrent || undefined}>
      <Spin spinning={!isCurrent} delay={DEBOUNCE_MS}>
        <Descriptions
          size="small"
          bordered
          column={1}
          items={[
            ...destinations.map(([field, key]) => ({
              key: field,
              label: t(key),
              children: <span className="money">{money(preview[field])}</span>,
            })),
            {
              key: 'access',
              label: t('note.access'),
              children: t(
                !endsAccess(preview) ? 'note.accessStays' : keepsAccess ? 'note.accessKept' : 'note.accessEnds',
              ),
            },
          ]}
        />
      </Spin>
    </section>
  );
}
