/** The question before an act: who answers, and what counts as yes. */

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { RefusedError } from '../src/cli-error.ts';
import { confirm } from '../src/operate/act.ts';
import { harmless, table } from '../src/operate/print.ts';

/** A terminal at which somebody types this. */
function terminal(typed: string, isTTY = true) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stderr = new PassThrough();
  stdin.write(`${typed}\n`);
  return { stdin, stderr };
}

describe('the question before an act', () => {
  it.each(['y', 'Y', 'yes', ' Yes '])('takes "%s" for yes', async (typed) => {
    const at = terminal(typed);
    await confirm({}, 'Settle it?', at);
    expect(String(at.stderr.read())).toContain('Settle it? [y/N]');
  });

  it.each(['', 'n', 'no', 'ja', 'yy'])('takes "%s" for no', async (typed) => {
    await expect(confirm({}, 'Settle it?', terminal(typed))).rejects.toThrow(RefusedError);
  });

  // F156
  it('takes the end of the input, which is Ctrl-D, for no', async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const asked = confirm({}, 'Settle it?', { stdin, stderr: new PassThrough() });
    stdin.end();
    await expect(asked).rejects.toThrow(RefusedError);
  });

  it('takes Ctrl-C for no', async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stderr = Object.assign(new PassThrough(), { isTTY: true });
    const asked = confirm({}, 'Settle it?', { stdin, stderr });
    stdin.write('\u0003');
    await expect(asked).rejects.toThrow(RefusedError);
  });

  it('is not asked where nobody can answer, and not where --yes was given', async () => {
    const nobody = terminal('y', false);
    await expect(confirm({}, 'Settle it?', nobody)).rejects.toThrow(/--yes/);
    expect(nobody.stderr.read()).toBeNull();
    const quiet = terminal('', false);
    await confirm({ yes: true }, 'Settle it?', quiet);
    expect(quiet.stderr.read()).toBeNull();
  });
});

describe('what is printed', () => {
  it('sends no escape sequence of a stranger to the terminal', () => {
    expect(harmless('\u001b[2Jkey\u0007\u202e\u009b1m')).toBe('\\u001b[2Jkey\\u0007\\u202e\\u009b1m');
    expect(table(['WHY'], [['ok\nunknown  5 s']])).toEqual(['WHY', 'ok unknown 5 s']);
    expect(harmless('two\nlines\tand ümlaut')).toBe('two\nlines\tand ümlaut');
  });
});
