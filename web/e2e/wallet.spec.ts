import { createRequire } from 'node:module';
import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { MockStore, serveLedger, TOKEN } from './fixtures/connect';
import { delayResponse } from './fixtures/delay-response';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { expectStable, recordLayoutShifts } from './fixtures/layout-shift';

const load = createRequire(import.meta.url);
const { fromBase58, toBase58 } = load('@ocap/util');
const { fromPublicKey } = load('@ocap/wallet');
const { toTypeInfo } = load('@arcblock/did');
const AUTH = 'http://127.0.0.1/api/did/payment/auth?_t_=t1';
const FIVE = '5000000000000000000';

const open = (page: Page, url: string | null = AUTH) =>
  page.goto(`/sandbox/wallet${url ? `?url=${encodeURIComponent(url)}` : ''}`);
const createAccount = (page: Page) => page.getByRole('button', { name: 'Create your first account' }).click();
const signIn = { type: 'authPrincipal', description: 'Please continue with your account', meta: { n: 1 }, target: '' };
const profile = { type: 'profile', description: 'Who are you?', items: ['fullName', 'email', 'avatar'], meta: {} };

test.use({ bypassCSP: true });
test.beforeEach(({ page }) => serveLedger(page).then(() => undefined));

for (const { locale, scheme } of displaySettings) {
  test(`says in ${locale}, ${scheme} that the sandbox was switched off`, async ({ page }) => {
    const body = { error: 'The sandbox is off.', code: 'SANDBOX_OFF' };
    await page.context().route('**/sandbox/arcblock/**', (route) => route.fulfill({ status: 503, json: body }));
    await applyDisplaySettings(page, { locale, scheme });
    await open(page, null);
    const off = locale === 'zh' ? '此商店的沙盒已关闭。' : 'The sandbox of this store is switched off.';
    await page.locator('.wallet-card .k-button-primary').first().click();
    await expect(page.getByTestId('balance')).toHaveText(off);
    await page.getByRole('button', { name: locale === 'zh' ? '领取测试币' : 'Get test tokens' }).click();
    await expect(page.locator('.wallet-status').getByText(off)).toBeVisible();
  });
}

test('signs in and shares the profile, step by step, in version 1.1.0', async ({ page }) => {
  const store = new MockStore([() => [signIn], () => [profile]]);
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await expect(page.getByText('Sign in to Souk Demo as Account 1')).toBeVisible();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByText('Share your name and your email')).toBeVisible();
  await page.getByLabel('Name', { exact: true }).fill('Mei Lin');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByText('You can go back to Souk Demo.')).toBeVisible();
  const [first, second] = store.responses;
  expect(first).toMatchObject({ action: 'responseAuth', challenge: 'C0', valid: true, version: '1.1.0' });
  expect(first?.requestedClaims[0]).toMatchObject({ type: 'authPrincipal', meta: { n: 1 } });
  expect(second).toMatchObject({ challenge: 'C1', valid: true });
  expect(second?.requestedClaims[0]).toMatchObject({ fullName: 'Mei Lin', email: 'account1@example.com' });
});

for (const kind of ['Ed25519 (default)', 'Ethereum', 'Secp256k1']) {
  test(`pays with a ${kind} key: the requested transaction has inner and outer signatures`, async ({ page }) => {
    const store: MockStore = new MockStore([
      () => [signIn],
      async (address, pk) => [
        {
          type: 'prepareTx',
          description: 'Lantern Notes',
          partialTx: await store.transfer(address, pk, FIVE, { checkoutSessionId: 'cs_1' }),
          requirement: { tokens: [{ address: TOKEN, value: FIVE }], assets: {} },
          meta: {},
        },
      ],
    ]);
    await store.serve(page);
    await open(page);
    await page.getByLabel('Key type').selectOption({ label: kind });
    await createAccount(page);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByTestId('balance')).toHaveText('1,000 SKT');
    await expect(page.getByText('Lantern Notes')).toBeVisible();
    await expect(page.getByText(store.app.address)).toBeVisible();
    await page.getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect(page.getByText('You can go back to Souk Demo.')).toBeVisible();

    const response = store.responses[1];
    expect(response?.valid).toBe(true);
    const address = response?.iss.replace('did:abt:', '');
    const tx = store.client.decodeTx(String(response?.requestedClaims[0]?.finalTx));
    expect(tx.from).toBe(address);
    expect(tx.signature.length).toBeGreaterThan(60);
    expect(tx.signaturesList).toHaveLength(1);
    expect(tx.signaturesList[0]).toMatchObject({ signer: address, delegator: '' });
    const itx = Buffer.from(tx.itx.value, 'base64').toString('latin1');
    expect(itx).toContain('{"checkoutSessionId":"cs_1"}');
    const requested = store.client.decodeTx(String(response?.requestedClaims[0]?.partialTx));
    const outputs = Buffer.from(requested.itx.value, 'base64').toString('latin1');
    expect(itx.endsWith(outputs)).toBe(true);
    expect(fromBase58(response?.userPk ?? '').length).toBeGreaterThan(31);
  });
}

for (const kind of ['Ed25519 (default)', 'Ethereum']) {
  test(`approves a delegation and a deposit with a ${kind} key`, async ({ page }) => {
    const store: MockStore = new MockStore([
      async (address, pk) => [
        {
          type: 'signature',
          typeUrl: 'fg:t:transaction',
          origin: await store.permission(address, pk, FIVE),
          requirement: { tokens: [], assets: {} },
          meta: {},
        },
        {
          type: 'prepareTx',
          partialTx: await store.deposit(address, pk, 3 * 86_400),
          requirement: { tokens: [{ address: TOKEN, value: FIVE }], assets: {} },
          meta: {},
        },
      ],
      async (address, pk) => [
        {
          type: 'prepareTx',
          partialTx: await store.permission(address, pk, FIVE),
          requirement: { tokens: [], assets: {} },
          meta: {},
        },
      ],
    ]);
    await store.serve(page);
    await open(page);
    await page.getByLabel('Key type').selectOption({ label: kind });
    await createAccount(page);
    const permission = 'This store may charge up to 5 SKT per payment without asking again, until you revoke this.';
    await expect(page.getByText(permission)).toBeVisible();
    await expect(
      page.getByText('A refundable deposit of 5 SKT, returned 3 days after the subscription ends.'),
    ).toBeVisible();
    await page.getByRole('button', { name: 'Deposit 5 SKT' }).click();
    await expect(page.getByText('Step 2')).toBeVisible();
    await expect(page.getByText(permission)).toBeVisible();
    await page.getByRole('button', { name: 'Allow' }).click();
    await expect(page.getByText('You can go back to Souk Demo.')).toBeVisible();

    const [signed, staked] = store.responses[0]?.requestedClaims ?? [];
    const verifier = fromPublicKey(
      fromBase58(store.responses[0]?.userPk ?? ''),
      toTypeInfo(store.responses[0]?.iss ?? ''),
    );
    const origin = fromBase58(String(signed?.origin));
    expect(await verifier.verify(origin, fromBase58(String(signed?.sig)))).toBe(true);
    const deposit = store.client.decodeTx(String(staked?.finalTx));
    expect(deposit.signaturesList).toHaveLength(1);
    expect(deposit.signature.length).toBeGreaterThan(60);

    const requested = store.responses[1]?.requestedClaims[0];
    const signedTx = store.client.decodeTx(String(requested?.finalTx));
    const { signature, ...unsigned } = signedTx;
    expect(signature.length).toBeGreaterThan(60);
    expect({ ...unsigned, signature: '' }).toEqual({
      ...store.client.decodeTx(String(requested?.partialTx)),
      signature: '',
    });
  });
}

test('warns of a delegation without a limit', async ({ page }) => {
  const store: MockStore = new MockStore([
    async (address, pk) => [
      { type: 'signature', typeUrl: 'fg:t:delegate', origin: await store.permission(address, pk, '0'), meta: {} },
    ],
  ]);
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await expect(page.getByText('This store may charge any amount without asking again')).toBeVisible();
});

test('declines, and notifies the store', async ({ page }) => {
  const store = new MockStore([() => [signIn]]);
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await page.getByRole('button', { name: 'Decline' }).click();
  await expect(page.getByText('You declined the request, and Souk Demo has been notified.')).toBeVisible();
  expect(store.responses[0]).toMatchObject({
    action: 'declineAuth',
    challenge: 'C0',
    valid: true,
    requestedClaims: [],
  });
});

test('signs a text and accepts an agreement', async ({ page }) => {
  const origin = 'zWv1EUaWQ8SUGbAFgk5QzN3HtMqFwk9SjX';
  const claims = [
    { type: 'signature', typeUrl: 'mime:text/plain', origin, meta: {} },
    { type: 'agreement', uri: 'https://souk.example/terms', method: 'sha3', digest: origin, meta: {} },
  ];
  const store = new MockStore([() => claims]);
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await expect(page.getByText('https://souk.example/terms')).toBeVisible();
  await page.getByRole('button', { name: 'Accept' }).click();
  await expect(page.getByText('You can go back to Souk Demo.')).toBeVisible();
  const [text, agreement] = store.responses[0]?.requestedClaims ?? [];
  expect(String(text?.sig)).toMatch(/^z/);
  expect(agreement).toMatchObject({ agreed: true });
});

test('rejects a transaction that moves more than the requirement', async ({ page }) => {
  const store: MockStore = new MockStore([
    async (address, pk) => [
      {
        type: 'prepareTx',
        partialTx: await store.transfer(address, pk, '9000000000000000000', {}),
        requirement: { tokens: [{ address: TOKEN, value: FIVE }] },
        meta: {},
      },
    ],
  ]);
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await expect(page.getByText("The request doesn't match what you would sign. Please decline it.")).toBeVisible();
  await expect(page.getByRole('button', { name: /Pay/ })).toBeDisabled();
});

test('shows if the request has expired or belongs to another account', async ({ page }) => {
  const store = new MockStore([() => [signIn]]);
  store.fail = { errorMessage: 'Session not found or expired', errorCode: 'CONNECT_EXPIRED' };
  await store.serve(page);
  await open(page);
  await createAccount(page);
  await expect(page.getByText('The request has expired. Start again in the store.')).toBeVisible();
  store.fail = { errorMessage: 'Login user and wallet user mismatch', errorCode: 'CONNECT_OTHER_WALLET' };
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('A different account started this.')).toBeVisible();
  store.fail = null;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('Sign in to Souk Demo as Account 1')).toBeVisible();
});

test('funds a new account once, but not an emptied one', async ({ page }) => {
  const { balances } = await serveLedger(page);
  const requested: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/faucet')) requested.push(request.url());
  });
  await page.goto('/sandbox/wallet');
  await createAccount(page);
  await expect(page.getByTestId('balance')).toHaveText('1,000 SKT');
  for (const address of balances.keys()) balances.set(address, 0n);
  await page.reload();
  await expect(page.getByTestId('balance')).toHaveText('Empty');
  expect(requested).toHaveLength(1);
});

test('does not shift on a phone while the balance and the permissions load', async ({ page }) => {
  await recordLayoutShifts(page);
  const { delegations } = await serveLedger(page);
  const limit = { tokens: [{ address: TOKEN, txAllowance: FIVE }] };
  delegations.push({ address: 'z1Permission', to: 'z1Store', ops: [{ key: 'fg:t:transfer_v2', value: { limit } }] });
  await open(page, null);
  await createAccount(page);
  await expect(page.getByTestId('balance')).toHaveText('1,000 SKT');
  await expect(page.getByRole('region', { name: 'Your authorizations' })).toBeVisible();
  await expectStable(page);
  // A returning visitor has an account before anything has loaded.
  const release = await delayResponse(page, '**/sandbox/arcblock/api/');
  await page.reload();
  await expect(page.getByTestId('balance')).toHaveText('…');
  release();
  await expect(page.getByTestId('balance')).toHaveText('1,000 SKT');
  await expect(page.getByRole('region', { name: 'Your authorizations' })).toBeVisible();
  await expectStable(page);
});

test('opens a pasted deep link, and rejects an invalid one', async ({ page }) => {
  const store = new MockStore([() => [signIn]]);
  await store.serve(page);
  await open(page, null);
  await createAccount(page);
  const field = page.getByLabel('Link or code of the request');
  await field.fill('https://example.com/');
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await expect(field).toHaveAccessibleDescription(/This is not a wallet request/);
  const link = `https://abtwallet.io/i/?${new URLSearchParams({ action: 'requestAuth', url: encodeURIComponent(AUTH) })}`;
  await field.fill(link);
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await expect(page.getByText('Sign in to Souk Demo as Account 1')).toBeVisible();
});

test('stores its accounts, and uses the selected one', async ({ page }) => {
  const store = new MockStore([() => [signIn]]);
  await store.serve(page);
  await open(page, null);
  await createAccount(page);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.reload();
  await page.getByLabel('Accounts').selectOption({ index: 0 });
  await open(page);
  await expect(page.getByText('Sign in to Souk Demo as Account 1')).toBeVisible();
  await page.getByLabel('Accounts').selectOption({ index: 1 });
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByText('You can go back')).toBeVisible();
  expect(store.responses).toHaveLength(1);
});

test('shows and revokes delegations', async ({ page }) => {
  const ledger = await serveLedger(page);
  const store = new MockStore([]);
  const limit = { tokens: [{ address: TOKEN, txAllowance: FIVE }] };
  const ops = [{ key: 'fg:t:transfer_v2', value: { limit } }];
  ledger.delegations.push({ address: 'z2b1', to: store.app.address, ops });
  await page.route('**/api/store?*', (route) =>
    route.fulfill({ json: { name: 'Souk Demo', appPid: store.app.address } }),
  );
  await open(page, null);
  await createAccount(page);
  await expect(page.getByRole('region', { name: 'Your authorizations' })).toContainText('Souk Demo');
  await expect(page.getByText('At most 5 SKT per payment')).toBeVisible();
  await expect(page.getByText(store.app.address)).toBeVisible();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByText('Revoked. The store must ask you again.')).toBeVisible();
  await expect(page.getByText('At most 5 SKT per payment')).toBeHidden();
  const tx = store.client.decodeTx(toBase58(Buffer.from(ledger.sent[0] ?? '', 'base64url')));
  expect(tx).toMatchObject({ chainId: 'souk-sandbox', itx: { typeUrl: 'fg:t:revoke_delegate' } });
  expect(Buffer.from(tx.itx.value, 'base64').toString('latin1')).toContain('fg:t:transfer_v2');
});

for (const { locale: language, scheme } of displaySettings) {
  test(`has no accessibility violation in ${language}, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    const store = new MockStore([() => [signIn]]);
    await store.serve(page);
    await page.goto(`/sandbox/wallet?locale=${language}&url=${encodeURIComponent(AUTH)}`);
    await page.locator('button[aria-busy]').waitFor({ state: 'detached' });
    await expectAccessible(page);
    await page.locator('.k-button-primary').click();
    await page.locator('#request-heading').waitFor();
    await expectAccessible(page);
    await expect(page.locator('html')).toHaveAttribute('lang', language);
  });
}
