/** Starts the built command as a process of its own, and talks to it as its user would: by its lines, over HTTP, by signals. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { MAIN } from './built.ts';

export { MAIN };

/** A started command. */
export class Command {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly lines: string[] = [];
  readonly #closed: Promise<unknown>;
  #stderr = '';
  #wake: () => void = () => undefined;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...env },
    });
    this.#closed = once(this.child, 'close').then(() => this.#wake());
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.lines.push(line);
      this.#wake();
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  get stdout(): string {
    return this.lines.join('\n');
  }

  /** Waits for a line that has not been there before line number `from`; rejects when the command ends without it. */
  async line(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (let at = from; ; ) {
      for (; at < this.lines.length; at++) {
        const match = pattern.exec(this.lines[at] ?? '');
        if (match !== null) return match;
      }
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`It ended without a line like ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Its exit code, or the signal that ended it. */
  async ended(): Promise<number | string | null> {
    await this.#closed;
    return this.child.exitCode ?? this.child.signalCode;
  }
}

/** What differs from the usual payment. */
export interface PaymentChange {
  readonly amountCents?: number;
  readonly tenant?: string;
  /** What the provider is to do wrong. */
  readonly provider?: string;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

/** A running demo. */
export class RunningDemo extends Command {
  origin = '';

  /** Starts one on any free port and waits until it says that it takes requests. */
  static async start(dir: string, flags: readonly string[] = []): Promise<RunningDemo> {
    const demo = new RunningDemo(['demo', ...flags], { SAMEKEY_DEMO_PORT: '0', SAMEKEY_DEMO_DIR: dir });
    demo.origin = (await demo.line(/API +(http:\S+)/))[1] ?? '';
    await demo.line(/one line per request/);
    return demo;
  }

  /** Sends a payment. */
  async pay(key: string, change: PaymentChange = {}) {
    const { amountCents = 1200, tenant, provider, path = 'payments', signal } = change;
    const response = await fetch(`${this.origin}/${path}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Idempotency-Key': `"${key}"`,
        ...(tenant === undefined ? {} : { Authorization: `Bearer ${tenant}` }),
      },
      body: JSON.stringify({ customerId: 'cus_1', amountCents, currency: 'usd', provider }),
      ...(signal === undefined ? {} : { signal }),
    });
    return {
      status: response.status,
      text: await response.text(),
      replayed: response.headers.get('Idempotency-Replayed'),
      location: response.headers.get('Location'),
      retryAfterMs: Number(response.headers.get('Retry-After')) * 1_000,
    };
  }

  /** Sends a payment, and again when it is asked to, until there is a final answer. */
  async payUntilAnswered(key: string, change: PaymentChange = {}) {
    for (;;) {
      const answer = await this.pay(key, change);
      if (answer.status !== 409 && answer.status !== 202) return answer;
      await pause(answer.retryAfterMs);
    }
  }

  /** Waits until the provider has charged the key. */
  async charged(key: string): Promise<void> {
    while ((await this.chargesOf(key)) === 0) await pause(50);
  }

  /** How often the key was charged, by the provider's books. */
  async chargesOf(key: string, tenant = 'demo'): Promise<number> {
    const response = await fetch(`${this.origin}/ledger`, { headers: { Authorization: `Bearer ${tenant}` } });
    const { latest } = (await response.json()) as { latest: { intent: string; charges: number }[] };
    return latest.find(({ intent }) => intent === key)?.charges ?? 0;
  }

  /** Presses Ctrl-C; resolves with the exit code. */
  async interrupt(): Promise<number | string | null> {
    this.child.kill('SIGINT');
    return this.ended();
  }
}

/** A fresh folder, and how to remove it. */
export function freshFolder(): { readonly dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'samekey-demo-'));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
