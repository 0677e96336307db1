import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser } from '@playwright/test';

/** The folder of an app, in which its developer works. */
export class AppFolder {
  constructor(readonly path: string) {}

  write(name: string, content: string): void {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  remove(name: string): void {
    rmSync(join(this.path, name));
  }

  get manifest(): string {
    return readFileSync(join(this.path, 'blocklet.yml'), 'utf8');
  }

  /** The DID that `souk init` has derived. */
  get did(): string {
    return /^did: (\S+)$/m.exec(this.manifest)?.[1] ?? '';
  }

  /** Raises the version of the manifest, and adds lines to it. */
  raise(version: string, more = ''): void {
    this.write('blocklet.yml', `${this.manifest.replace(/^version: .*$/m, `version: ${version}`)}${more}`);
  }

  /** Draws the logo and the screenshots that `souk init` names. */
  async draw(browser: Browser, title: string): Promise<void> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    const draw = async (name: string, color: string) => {
      await page.setContent(
        `<body style="margin: 0; background: ${color}; color: white; font: 64px sans-serif">${title}</body>`,
      );
      await page.screenshot({ path: join(this.path, name) });
    };
    for (const [index, color] of ['navy', 'darkgreen', 'maroon'].entries())
      await draw(`screenshots/${index + 1}.png`, color);
    await page.setViewportSize({ width: 512, height: 512 });
    await draw('logo.png', 'indigo');
    await page.close();
  }
}
