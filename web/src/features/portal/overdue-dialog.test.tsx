import { QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { queryClient } from '@/app/queries';
import { openConnect } from '@/features/connect';
import { OverdueDialog } from './overdue-dialog';

vi.mock('@/features/connect', () => ({ openConnect: vi.fn() }));

const currency = { id: 'pc_skt', symbol: 'SKT', decimal: 2 };
const wallet = { id: 'pm_1', type: 'arcblock', name: 'Wallet' };
const invoice = { id: 'in_1', currency_id: 'pc_skt', customer_id: 'cus_1', subscription_id: 'sub_1' };
const overdueBalance = { summary: { pc_skt: { amount: '500', currency, method: wallet } }, invoices: [invoice] };
const nothingOverdue = { summary: {}, invoices: [] };
let overdue: unknown;

beforeEach(() => {
  overdue = overdueBalance;
  vi.stubGlobal('fetch', async (url: string) =>
    Response.json(url.includes('/overdue/') ? overdue : { demo: true, appPid: '' }),
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  queryClient.clear();
});

it('in custom mode renders the given content, pays like the default rows, and closes when nothing is overdue', async () => {
  const onPaid = vi.fn();
  render(
    <QueryClientProvider client={queryClient}>
      <OverdueDialog
        payer={{ subscriptionId: 'sub_1' }}
        onClose={() => undefined}
        onPaid={onPaid}
        custom={([balance]) => (
          <button type="button" onClick={balance?.pay}>
            Settle {balance?.amount}
          </button>
        )}
      />
    </QueryClientProvider>,
  );
  fireEvent.click(await screen.findByRole('button', { name: 'Settle 500' }));
  const options = vi.mocked(openConnect).mock.calls[0]?.[0];
  expect(options).toMatchObject({
    action: 'collect-batch',
    extraParams: { currencyId: 'pc_skt', subscriptionId: 'sub_1' },
  });
  overdue = nothingOverdue;
  options?.onSuccess({});
  await waitFor(() => expect(onPaid).toHaveBeenCalled(), { timeout: 5000 });
});
