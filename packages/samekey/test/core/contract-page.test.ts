/** The tables of the contract that can be held against the code: states, policies, outcomes on the wire, defaults. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OUTCOME_KINDS, type OutcomeKind } from '../../src/core/outcome.ts';
import { POLICIES, type PolicyName } from '../../src/core/policy.ts';
import { STATES } from '../../src/core/record.ts';
import { resolveSettings } from '../../src/core/settings.ts';
import type { ProblemOutcome } from '../../src/http/problem.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import { stripe } from '../../src/http/profiles/stripe.ts';

const page = readFileSync(new URL('../../../../docs/internals/contract.md', import.meta.url), 'utf8');

/** The cells of the tables of a section, row by row, without heads. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const [, rest = ''] = page.split(`<a id="s${section}"></a>\n`);
  const [own = ''] = rest.split('<a id="s');
  const lines = own.split('\n');
  return lines
    .filter(
      (line, at) =>
        line.startsWith('| ') && !line.startsWith('| ---') && !(lines[at + 1] ?? '').startsWith('| ---'),
    )
    .map((line) => line.slice(2, -2).split(' | '));
}

function named(cell = ''): readonly string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

function msOf(text: string): number {
  const [amount = '', unit = ''] = text.split(' ');
  return Number(amount) * (UNITS[unit] ?? 1);
}

const retryAfterMs = 1_000;

/** One outcome of each kind in which a profile answers; null: the handler's own answer, now or earlier. */
const OUTCOMES: Readonly<Record<OutcomeKind, ProblemOutcome | null>> = {
  anonymous: { kind: 'anonymous' },
  'key-missing': { kind: 'key-missing' },
  'key-malformed': { kind: 'key-malformed', fault: 'empty', detail: '' },
  'request-unreadable': { kind: 'request-unreadable', detail: '' },
  'request-malformed': { kind: 'request-malformed', detail: '' },
  'request-too-large': { kind: 'request-too-large', sizeMaxBytes: 1 },
  'request-time-invalid': { kind: 'request-time-invalid', fault: 'missing' },
  'request-too-old': { kind: 'request-too-old', windowMs: 1 },
  unavailable: { kind: 'unavailable', because: 'store', retryAfterMs },
  expired: { kind: 'expired' },
  mismatch: { kind: 'mismatch' },
  replay: null,
  'response-not-stored': {
    kind: 'response-not-stored',
    state: 'completed',
    originalStatus: 201,
    location: null,
    expiresAt: 0,
  },
  unknown: { kind: 'unknown', retryAfterMs },
  pending: { kind: 'pending', retryAfterMs },
  'in-progress': { kind: 'in-progress', retryAfterMs },
  'attempts-exhausted': { kind: 'attempts-exhausted' },
  'request-invalid': { kind: 'request-invalid', issues: [] },
  limited: { kind: 'limited', retryAfterMs },
  executed: null,
};

describe('the contract says what the code does', () => {
  it('of the states of a record, in their order', () => {
    expect(rowsOf('3-2').map(([state]) => named(state)[0])).toEqual([...STATES, 'expired']);
  });

  it('of what each policy makes of each ending', () => {
    const rows = rowsOf('6-1');
    for (const [at, name] of (['standard', 'payments', 'stripe'] as const satisfies PolicyName[]).entries()) {
      const said = Object.fromEntries(rows.map((cells) => [named(cells[1])[0], cells[2 + at]]));
      expect(said).toEqual(POLICIES[name].verdicts);
    }
  });

  it('of every outcome, and of its status in each profile', () => {
    const rows = rowsOf('4-1');
    for (const kind of OUTCOME_KINDS) {
      const row = rows.find(([, outcome]) => named(outcome).includes(kind));
      expect(row, kind).toBeDefined();
      const outcome = OUTCOMES[kind];
      if (outcome === null) continue;
      const [, , inIetf = '', inStripe = ''] = row ?? [];
      expect(inIetf, kind).toContain(String(ietf().render(outcome).status));
      expect(inStripe === 'the same' ? inIetf : inStripe, kind).toContain(
        String(stripe().render(outcome).status),
      );
    }
  });

  it('of defaults', () => {
    const defaults: Readonly<Record<string, unknown>> = { ...resolveSettings({ policy: 'standard' }, {}) };
    const rows = rowsOf('9').flatMap(([name, given = '']) => {
      const [setting = ''] = named(name);
      return setting in defaults ? [[setting, given] as const] : [];
    });
    expect(rows.length).toBeGreaterThan(6);
    for (const [setting, given] of rows) {
      const said = named(given)[0] === undefined ? msOf(given) : defaults[named(given)[0] ?? ''];
      expect(said, setting).toBe(defaults[setting]);
    }
  });
});
