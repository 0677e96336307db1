import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { user } from './fixtures/data';
import { delayResponse } from './fixtures/delay-response';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

const AVATAR = `/.well-known/service/user/avatar/${user.did}`;
const file = (size = 100) => ({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.alloc(size, 7) });

interface Refusal {
  status: number;
  code: string;
  params?: Record<string, string>;
}

/** Serves the page and changes of the picture, each of which gets a new address. Returns the calls. */
async function servePictures(page: Page, refusals: Refusal[] = []) {
  await serve(page, { signedIn: true });
  const calls: { method: string; type: string | undefined }[] = [];
  await page.route(/\/api\/session\/picture\?/, async (route) => {
    const request = route.request();
    calls.push({ method: request.method(), type: request.headers()['content-type'] });
    const refusal = refusals.shift();
    if (refusal) {
      const { status, code, params } = refusal;
      return route.fulfill({ status, json: { error: 'Refused by the server', code, params } });
    }
    const hasPicture = request.method() === 'PUT';
    const avatar = hasPicture ? `${AVATAR}?updateAt=${calls.length}` : AVATAR;
    await route.fulfill({ json: { user: { ...user, avatar, hasPicture } } });
  });
  return calls;
}

const choose = async (page: Page, chosen = file()) => {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: /^(Upload picture|上传头像)$/ }).click();
  await (await chooser).setFiles(chosen);
};
const headerAvatar = (page: Page) => page.locator('header img[src*="/avatar/"]');
const ownAvatar = (page: Page) => page.getByRole('img', { name: /^(Profile picture|头像)$/ });
const removeButton = (page: Page) => page.getByRole('button', { name: /^(Remove picture|移除头像)$/ });

for (const display of displaySettings) {
  test(`a user uploads and removes a picture, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const calls = await servePictures(page);
    await page.goto('/profile');
    await expect(page.getByText(/PNG, JPEG or WebP, up to 1 MB|PNG、JPEG 或 WebP 格式，不超过 1 MB/)).toBeVisible();
    await expect(removeButton(page)).toHaveCount(0);
    await expectAccessible(page);
    await choose(page);
    await expect(page.getByText(/^(Picture updated\.|头像已更新。)$/)).toBeVisible();
    for (const avatar of [ownAvatar(page), headerAvatar(page)])
      await expect(avatar).toHaveAttribute('src', `${AVATAR}?updateAt=1`);
    await expectAccessible(page);
    // The same file once more is another upload.
    await choose(page);
    await expect(headerAvatar(page)).toHaveAttribute('src', `${AVATAR}?updateAt=2`);
    await removeButton(page).click();
    await expect(page.getByText(/^(Picture removed\.|头像已移除。)$/)).toBeVisible();
    for (const avatar of [ownAvatar(page), headerAvatar(page)]) await expect(avatar).toHaveAttribute('src', AVATAR);
    await expect(removeButton(page)).toHaveCount(0);
    await expect(page.getByRole('button', { name: /^(Upload picture|上传头像)$/ })).toBeFocused();
    expect(calls).toEqual([
      { method: 'PUT', type: 'image/png' },
      { method: 'PUT', type: 'image/png' },
      { method: 'DELETE', type: undefined },
    ]);
  });

  test(`a refused picture is explained, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const calls = await servePictures(page, [
      { status: 415, code: 'PICTURE_FORMAT' },
      { status: 400, code: 'PICTURE_DIMENSIONS', params: { min: '64', max: '4096' } },
      { status: 429, code: 'TOO_MANY_PICTURES' },
    ]);
    await page.goto('/profile');
    const alert = page.getByRole('alert');
    for (const text of [
      /Please choose a PNG, JPEG or WebP picture|请选择 PNG、JPEG 或 WebP 格式的图片/,
      /must be 64 to 4096 pixels wide and high|宽和高须在 64 到 4096 像素之间/,
      /changed your picture too often|更换头像过于频繁/,
    ]) {
      await choose(page);
      await expect(alert).toContainText(text);
      await expect(alert).toBeFocused();
    }
    await expectAccessible(page);
    await choose(page, file(1_048_577));
    await expect(alert).toContainText(/larger than 1 MB|图片超过 1 MB/);
    expect(calls, 'a file that is too large is not sent').toHaveLength(3);
    await choose(page);
    await expect(alert).toHaveCount(0);
    await expect(removeButton(page)).toBeVisible();
  });
}

test('the picture shows that an upload is in progress', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true });
  const session = { user: { ...user, avatar: `${AVATAR}?updateAt=1`, hasPicture: true } };
  const answer = await delayResponse(page, /\/api\/session\/picture\?/, (route) => route.fulfill({ json: session }));
  await page.goto('/profile');
  await choose(page);
  await expect(page.getByRole('status').filter({ hasText: 'Uploading picture…' })).toBeVisible();
  answer();
  await expect(page.getByText('Picture updated.')).toBeVisible();
  await expect(page.getByText('Uploading picture…')).toHaveCount(0);
});
