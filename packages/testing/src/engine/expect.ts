/** Short ways to say what a request must have met. */

import assert from 'node:assert/strict';
import type { SamekeyEvent } from 'samekey/internals/engine/events';
import type { Executed, Outcome } from 'samekey/internals/core/outcome';
import { sameResponse, type StoredResponse } from 'samekey/internals/core/response';
import type { EngineNode } from './bench.ts';

/** The handler ran for this request, and what became of it. */
export function executed(outcome: Outcome, expected: Partial<Executed> = {}): Executed {
  assert.ok(outcome.kind === 'executed', told(outcome));
  for (const [name, value] of Object.entries(expected))
    assert.deepEqual(
      (outcome as unknown as Record<string, unknown>)[name],
      value,
      `${name}: ${told(outcome)}`,
    );
  return outcome;
}

/** The answer, to the byte, from the record. */
export function replayed(outcome: Outcome, answer: StoredResponse | null): void {
  assert.equal(outcome.kind, 'replay', told(outcome));
  assert.ok(
    outcome.kind === 'replay' && sameResponse(outcome.response, answer),
    'the same answer, to the byte',
  );
}

/** An outcome of this kind. */
export function met<Kind extends Outcome['kind']>(
  outcome: Outcome,
  kind: Kind,
): Extract<Outcome, { readonly kind: Kind }> {
  assert.equal(outcome.kind, kind, told(outcome));
  return outcome as Extract<Outcome, { readonly kind: Kind }>;
}

/** The events of a type, in order. */
export function eventsOf<Type extends SamekeyEvent['type']>(
  { events }: EngineNode,
  type: Type,
): Extract<SamekeyEvent, { readonly type: Type }>[] {
  return events.filter(
    (event): event is Extract<SamekeyEvent, { readonly type: Type }> => event.type === type,
  );
}

function told(outcome: Outcome): string {
  return JSON.stringify(outcome, (_name, part: unknown) =>
    part instanceof Uint8Array ? new TextDecoder().decode(part.subarray(0, 200)) : part,
  );
}
