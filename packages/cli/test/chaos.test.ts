/** Chaos by its command: real processes, killed at moments nobody chose, and two SQLite files to compare at the end. */

import { describe, expect, it } from 'vitest';
import { Command, freshFolder } from './running-demo.ts';

// Printed by the command too: a failure names the seed that shows it again.
const SEED = '7';

async function chaos(...flags: string[]): Promise<{ readonly code: unknown; readonly command: Command }> {
  const folder = freshFolder();
  try {
    const command = new Command(['demo', '--chaos', '--seed', SEED, '--dir', folder.dir, ...flags]);
    return { code: await command.ended(), command };
  } finally {
    folder.remove();
  }
}

// Seconds of it are waiting for claims of the killed to end; a busy machine needs more.
describe('chaos', { timeout: 180_000 }, () => {
  // F20, F21: replies lost after the charge, and keys that the provider forgets.
  it('ends with one charge per intent, whatever the provider does and whoever is killed', async () => {
    const { code, command } = await chaos('--customers', '30');
    expect(code, command.stdout + command.stderr).toBe(0);
    expect(command.stdout).toContain('OK: one charge per intent');
    expect(command.stdout).toMatch(/charges at the provider +30\n/);
    expect(command.stderr).toBe('');
    // It was not a calm day.
    const kills = ['shop', 'worker', 'provider'].map((who) => count(command, `kill -9 of the ${who}`));
    expect(kills.reduce((sum, one) => sum + one)).toBeGreaterThan(1);
    for (const what of ['charges, and the reply is lost', 'charges, then answers 500']) {
      expect(count(command, what), what).toBeGreaterThan(0);
    }
    expect(count(command, 'calls for a charge at the provider')).toBeGreaterThan(30);
  });

  it('is interrupted by Ctrl-C with exit code 0, and leaves no process behind', async () => {
    const folder = freshFolder();
    try {
      const command = new Command(['demo', '--chaos', '--seed', SEED, '--dir', folder.dir]);
      await command.line(/customers served/);
      command.child.kill('SIGINT');
      // The processes it has started share its output, so this waits for all of them.
      expect(await command.ended(), command.stdout + command.stderr).toBe(0);
      expect(command.stderr).toBe('');
    } finally {
      folder.remove();
    }
  });

  it('shows what the same payment does without its effect: charges twice, and exit code 1', async () => {
    const { code, command } = await chaos('--unprotected', '--customers', '20');
    expect(code, command.stdout + command.stderr).toBe(1);
    expect(command.stdout).toMatch(/VIOLATED: \d+ intents charged more than once/);
    expect(command.stderr).toContain('unprotected-call');
  });
});

function count(command: Command, what: string): number {
  const line = command.lines.find((one) => one.trim().startsWith(what));
  return Number(/(\d+)$/.exec(line ?? '')?.[1]);
}
