/**
 * References of a sealed store. What a provider calls a call stands in its steps, which are sealed, so the table keeps
 * a digest under a key of the ring and nothing that could be tried against a list of ids.
 *
 * Invariant: a look asks by the digests under all keys of the ring, and by the reference as it was before anything was
 * sealed.
 */

import type { CallUnderWay, NewReference, References } from '../store/references.ts';
import type { CheckpointRequest } from '../store/store.ts';
import { after, all, type Maybe } from './maybe.ts';
import type { Sealer } from './sealer.ts';

/** Makes them. */
export function sealedReferences(references: References, sealer: Sealer): References {
  return {
    async find(wanted, limit) {
      const kept = await all(wanted.map((each) => sealer.references(each)));
      return references.find(kept.flat(), limit);
    },
    async underWay(operations, limit) {
      const calls = await references.underWay(operations, limit);
      return all(calls.map((call) => openCall(call, sealer)));
    },
  };
}

/** With steps that cannot be opened nobody knows whether its id was noted: it may not have been. */
function openCall(call: CallUnderWay, sealer: Sealer): Maybe<CallUnderWay> {
  return after(sealer.openSteps(call, call.steps), (steps) =>
    typeof steps === 'string' ? { ...call, steps } : { ...call, steps: null },
  );
}

/** A checkpoint with its steps and its reference sealed. */
export function sealCheckpoint(sealer: Sealer, request: CheckpointRequest): Maybe<CheckpointRequest> {
  return after(sealer.steps(request, request.steps), (steps) =>
    after(sealReference(sealer, request.reference), (reference) => ({ ...request, steps, reference })),
  );
}

function sealReference(sealer: Sealer, reference: NewReference | undefined): Maybe<NewReference | undefined> {
  if (reference === undefined) return undefined;
  return after(sealer.reference(reference.reference), (kept) =>
    // Its name stays clear, as that of the last phase does: it is the code's, and nobody's secret.
    kept === undefined ? undefined : { ...reference, reference: kept },
  );
}
