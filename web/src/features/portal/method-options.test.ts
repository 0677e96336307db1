import { expect, it } from 'vitest';
import { methodOptions } from './method-options';

const currency = (id: string, active = true) => ({ id, symbol: id.toUpperCase(), decimal: 2, active });

it('offers each currency of the plan, for methods that support recurring payments', () => {
  const methods = [
    { id: 'pm_1', type: 'arcblock', name: 'Wallet', payment_currencies: [currency('skt'), currency('old', false)] },
    { id: 'pm_2', type: 'stripe', name: 'Card', payment_currencies: [currency('usd'), currency('eur')] },
    { id: 'pm_3', type: 'bitcoin', name: 'Bitcoin', payment_currencies: [currency('btc')] },
    { id: 'pm_4', type: 'base', name: 'Base', active: false, payment_currencies: [currency('usdc')] },
  ];
  expect(methodOptions(methods, (id) => id !== 'eur').map(({ value }) => value)).toEqual(['pm_1/skt', 'pm_2/usd']);
});
