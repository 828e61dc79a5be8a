/**
 * The golden path: an operation of three phases with two effects between them, reserve → authorise → note → capture → book, on the
 * caller's own database and a provider of its own. What each phase writes holds a number drawn there, and the answer repeats
 * them: only the results that were recorded first can be in it.
 */

import { randomUUID } from 'node:crypto';
import { type EffectCall, type EffectRule, type Operation, reply, type Samekey } from 'samekey';
import type { GoldenDatabase, GoldenTx } from './golden-database.ts';
import type { GoldenOptions, Rule } from './golden-protocol.ts';

/** What the client sends. */
export interface GoldenInput {
  readonly reference: string;
  readonly amount: number;
}

/** What it is answered. */
export interface GoldenAnswer {
  readonly reference: string;
  /** What the phases wrote, in order. */
  readonly written: readonly string[];
  /** The payments of the effects, in order. */
  readonly payments: readonly string[];
}

/** The phases, in order, and the effects between them. */
export const PHASES = ['reserve', 'note', 'book'] as const;
export const EFFECTS = ['authorise', 'capture'] as const;

const DAY_MS = 86_400_000;

/** Defines it under a rule of its own name. */
export function definePay(
  samekey: Samekey<GoldenTx>,
  database: Pick<GoldenDatabase, 'insertLine'>,
  options: GoldenOptions,
  rule: Rule,
): Operation<GoldenInput, GoldenAnswer> {
  const provider = `http://127.0.0.1:${options.providerPort}/payments`;
  return samekey.phased({
    name: `pay-${rule}`,
    claimTtlMs: options.claimTtlMs,
    attemptMax: 40,
    run: async (input: GoldenInput, attempt) => {
      const phase = (name: string): Promise<string> =>
        attempt.phase(name, async (tx) => {
          const written = randomUUID();
          await database.insertLine(tx, { phase: name, reference: input.reference, written });
          return written;
        });
      const effect = (name: string): Promise<string> =>
        attempt.effect(name, (call) => pay(provider, name, input, call), {
          ...ruleOf(provider, rule, options),
          callTimeMaxMs: options.callTimeMaxMs,
          input: { ...input, name },
        });
      const reserved = await phase('reserve');
      const authorised = await effect('authorise');
      const noted = await phase('note');
      const captured = await effect('capture');
      const booked = await phase('book');
      return reply(201, {
        reference: input.reference,
        written: [reserved, noted, booked],
        payments: [authorised, captured],
      });
    },
  });
}

/** Defines the order: one line, written in the transaction that ends its record. */
export function defineOrder(
  samekey: Samekey<GoldenTx>,
  database: Pick<GoldenDatabase, 'insertLine'>,
  { claimTtlMs, reserve }: GoldenOptions,
): Operation<GoldenInput, GoldenAnswer> {
  return samekey.transactional({
    name: 'pay-order',
    claimTtlMs,
    attemptMax: 40,
    reserve,
    run: async ({ reference }: GoldenInput, { tx }) => {
      const written = randomUUID();
      await database.insertLine(tx, { phase: 'order', reference, written });
      return reply(201, { reference, written: [written], payments: [] });
    },
  });
}

function ruleOf(provider: string, rule: Rule, { retentionMs = DAY_MS }: GoldenOptions): EffectRule<string> {
  if (rule === 'downstreamKey') return { rule, retentionMs };
  if (rule === 'reconcile') return { rule };
  return {
    rule,
    async inquire({ downstreamKey, signal }) {
      const response = await fetch(`${provider}?key=${downstreamKey}`, { signal, headers: HANG_UP });
      if (response.status === 404) return null;
      if (response.status !== 200) throw new Error(`The provider answered ${response.status}.`);
      return { result: ((await response.json()) as { id: string }).id };
    },
  };
}

/** One connection a call: one that is kept could be closed by the provider at the moment of the next. */
const HANG_UP = { connection: 'close' };

async function pay(
  provider: string,
  kind: string,
  { reference, amount }: GoldenInput,
  { downstreamKey, signal }: EffectCall,
): Promise<string> {
  const response = await fetch(provider, {
    method: 'POST',
    signal,
    headers: { ...HANG_UP, 'content-type': 'application/json', 'idempotency-key': downstreamKey },
    body: JSON.stringify({ kind, reference, amount }),
  });
  if (response.status !== 201) throw new Error(`The provider answered ${response.status}.`);
  return ((await response.json()) as { id: string }).id;
}
