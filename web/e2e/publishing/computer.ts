import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect } from '@playwright/test';

/** The exit codes of docs/INSTALLING.md. */
export const FAILED = 1;
export const SIGN_IN_REQUIRED = 3;
export const NOT_OFFERED = 5;
export const NOT_CONFIRMED = 8;

/** Variables that change what a command does: those of these tests, of the user who runs them, and of a CI. */
const FOREIGN = /^(SOUK_|XDG_|ACTIONS_|GITHUB_|GITLAB_|LD_PRELOAD$)/;
/** How a command asks for an approval on a page of the store. */
const REQUEST = /compare the code (\S+), and approve [^:]+:\s+(http\S+)\n/;

/** What a command has printed, and its exit code. */
export interface Printed {
  code: number | null;
  out: string;
  error: string;
}

/** A command that waits for an approval. */
export interface Asked {
  /** The address of the page. */
  page: string;
  /** What the page must show as well. */
  code: string;
  ended: Promise<Printed>;
}

/** A computer on which somebody runs the commands of the binary. One of the same name has the same files. */
export class Computer {
  readonly home: string;
  private readonly running = new Set<ChildProcessByStdio<null, Readable, Readable>>();

  constructor(
    name: string,
    private readonly variables: Record<string, string> = {},
  ) {
    this.home = join(tmpdir(), `computer-${name}`);
    mkdirSync(this.home, { recursive: true });
  }

  run(words: string[]): Promise<Printed> {
    return this.start(words).ended;
  }

  /** The output of a command that must succeed. */
  async done(words: string[]): Promise<string> {
    const printed = await this.run(words);
    expect(printed, `souk ${words.join(' ')}`).toMatchObject({ code: 0 });
    return printed.out;
  }

  /** Starts a command, and waits until it asks for an approval. */
  async ask(words: string[]): Promise<Asked> {
    const { printed, ended } = this.start(words);
    const request = () => REQUEST.exec(`${printed.out}${printed.error}`);
    await expect.poll(() => request() !== null || printed, { timeout: 20_000 }).toBe(true);
    const [, code = '', page = ''] = request() ?? [];
    return { page, code, ended };
  }

  /** Ends commands that a failed test has left. */
  stop(): void {
    for (const child of this.running) child.kill();
  }

  private start(words: string[]): { printed: Printed; ended: Promise<Printed> } {
    const binary = process.env.SOUK_BINARY;
    if (!binary) throw new Error('SOUK_BINARY names no binary: run scripts/e2e.sh.');
    const child = spawn(binary, words, { env: this.environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.running.add(child);
    const printed: Printed = { code: null, out: '', error: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed.error += text;
    });
    const ended = once(child, 'close').then(([code]): Printed => {
      this.running.delete(child);
      printed.code = code;
      return printed;
    });
    return { printed, ended };
  }

  private environment(): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
    // The clock of the store may be ahead, and commands must have the same time.
    const clock = process.env.FAKETIME_LIBRARY ? { LD_PRELOAD: process.env.FAKETIME_LIBRARY } : {};
    return { ...Object.fromEntries(kept), HOME: this.home, NO_PROXY: '127.0.0.1', ...clock, ...this.variables };
  }
}
