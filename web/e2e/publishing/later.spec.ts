import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { translatorFor } from '../server/translate';
import { requireServer } from '../server/wallet';
import { AppFolder } from './app-folder';
import { Computer, FAILED } from './computer';
import { DEVELOPER, ONE_DAY_TOKEN } from './people';

/** The same store a day after the story: `scripts/e2e.sh` has moved the clock of its machine. */
test.use({ storageState: DEVELOPER });

test('an access token of one day has expired, and one that lives longer works', async ({ page }) => {
  requireServer();
  const translate = translatorFor('en');
  await applyDisplaySettings(page);
  const workshop = new Computer('workshop');
  const { did } = new AppFolder(join(workshop.home, 'kiln-calendar'));
  const token = readFileSync(ONE_DAY_TOKEN, 'utf8');
  const server = new Computer('server', { SOUK_STORE: process.env.SOUK_URL ?? '', SOUK_ACCESS_TOKEN: token });
  const refused = await server.run(['status', did]);
  expect(refused).toMatchObject({ code: FAILED, error: expect.stringContaining('This access token has expired') });
  expect(refused.error).toContain('/developer/access-tokens');
  expect(await workshop.done(['status', did])).toContain('0.4.0: published');

  await page.goto('/developer/access-tokens');
  const row = page.getByRole('row').filter({ hasText: 'One day' });
  await expect(row.getByText(translate('publish:tokens.status.expired'))).toBeVisible();
  await expectAccessible(page);
});
