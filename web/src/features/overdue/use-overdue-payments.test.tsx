import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openConnect } from '@/features/connect';
import { useOverduePayments } from './use-overdue-payments';

vi.mock('@/features/connect', () => ({ openConnect: vi.fn() }));

interface Overdue {
  summary: Record<string, { amount: string }>;
}
const both: Overdue = { summary: { pc_skt: { amount: '500' }, pc_tba: { amount: '700' } } };
const one: Overdue = { summary: { pc_tba: { amount: '700' } } };
const none: Overdue = { summary: {} };
const refetch = vi.fn(async () => undefined);
const onSettled = vi.fn();
const onPaid = vi.fn();

function open(initial: Overdue) {
  return renderHook(
    ({ overdue }) =>
      useOverduePayments({
        overdue,
        refetch,
        onSettled,
        onPaid,
        requestOf: (currencyId) => ({ title: 'Pay', extraParams: { currencyId } }),
      }),
    { initialProps: { overdue: initial } },
  );
}
type Hook = ReturnType<typeof open>;
const pay = (hook: Hook, id: string) => {
  act(() => hook.result.current.pay(id));
  const options = vi.mocked(openConnect).mock.lastCall?.[0];
  if (!options) throw new Error('the wallet was not opened');
  return options;
};
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
});
afterEach(() => void vi.useRealTimers());

it('confirms a payment until the server no longer reports the balance, and shows that it is paid', async () => {
  const hook = open(both);
  const wallet = pay(hook, 'pc_skt');
  expect(wallet).toMatchObject({ action: 'collect-batch', extraParams: { currencyId: 'pc_skt' } });
  expect(hook.result.current.paymentOf('pc_skt').name).toBe('open');
  act(() => wallet.onSuccess({}));
  await pass(5000);
  expect(hook.result.current.paymentOf('pc_skt').name).toBe('confirming');
  expect(refetch).toHaveBeenCalledTimes(3);
  expect(onSettled).not.toHaveBeenCalled();

  hook.rerender({ overdue: one });
  expect(hook.result.current.paymentOf('pc_skt').name).toBe('success');
  expect(hook.result.current.shown).toBe(both);
  expect(onSettled).toHaveBeenCalledTimes(1);
  await pass(1200);
  expect(hook.result.current.shown).toBe(one);
  expect(onPaid).not.toHaveBeenCalled();
  const requests = refetch.mock.calls.length;
  await pass(10_000);
  expect(refetch).toHaveBeenCalledTimes(requests);
});

it('offers a retry if the payment is not confirmed within three minutes, and stops polling', async () => {
  const hook = open(both);
  const wallet = pay(hook, 'pc_skt');
  act(() => wallet.onSuccess({}));
  await pass(179_000);
  expect(hook.result.current.paymentOf('pc_skt').name).toBe('confirming');
  await pass(4000);
  expect(hook.result.current.paymentOf('pc_skt')).toEqual({ name: 'error', reason: 'unconfirmed' });
  const requests = refetch.mock.calls.length;
  await pass(60_000);
  expect(refetch).toHaveBeenCalledTimes(requests);
  pay(hook, 'pc_skt');
  expect(hook.result.current.paymentOf('pc_skt').name).toBe('open');
});

it('shows the decline of the wallet, if there was one, when its dialog closes', () => {
  const hook = open(both);
  const declined = pay(hook, 'pc_skt');
  act(() => {
    declined.onError?.('The balance is not sufficient');
    declined.onClose?.();
  });
  const message = 'The balance is not sufficient';
  expect(hook.result.current.paymentOf('pc_skt')).toEqual({ name: 'error', reason: 'declined', message });
  const closed = pay(hook, 'pc_tba');
  act(() => closed.onClose?.());
  expect(hook.result.current.paymentOf('pc_tba').name).toBe('idle');
});

it('reports once that all is paid, even if it was paid elsewhere while the wallet was open', async () => {
  const hook = open(one);
  const wallet = pay(hook, 'pc_tba');
  hook.rerender({ overdue: none });
  act(() => wallet.onClose?.());
  expect(hook.result.current.paymentOf('pc_tba').name).toBe('success');
  hook.rerender({ overdue: { summary: {} } });
  expect(onSettled).toHaveBeenCalledTimes(1);
  await pass(1200);
  expect(onPaid).toHaveBeenCalledTimes(1);
  expect(hook.result.current.shown).toEqual(none);
});

it('stops polling when the page is left', async () => {
  const hook = open(both);
  const wallet = pay(hook, 'pc_skt');
  let respond: () => void = () => undefined;
  refetch.mockImplementationOnce(() => new Promise<undefined>((resolve) => (respond = () => resolve(undefined))));
  act(() => wallet.onSuccess({}));
  await pass(1000);
  hook.unmount();
  respond();
  await pass(10_000);
  expect(refetch).toHaveBeenCalledTimes(1);
});
