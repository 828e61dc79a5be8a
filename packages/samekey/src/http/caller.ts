/**
 * Who asks, as the application's `scope` and `bindTo` say it: nothing, and the text that nothing becomes, name nobody.
 */

import type { Engine } from '../engine/engine.ts';
import { describeTextOfMissing, isTextOfMissing } from '../core/scope.ts';

/** The caller's part of the scope; null: the caller is not known, and the request is refused. */
export function callerParts(
  engine: Engine,
  operation: string,
  given: readonly string[] | string | null | undefined,
): readonly string[] | null {
  const parts = scopeParts(given);
  return parts === null || namesNobody(engine, operation, 'A part of the scope', parts) ? null : parts;
}

function scopeParts(scope: readonly string[] | string | null | undefined): readonly string[] | null {
  if (scope === null || scope === undefined || scope.length === 0) return null;
  return typeof scope === 'string' ? [scope] : scope;
}

/** Whether one of the texts is what a missing value becomes (F97); told of once for each operation. */
export function namesNobody(
  engine: Engine,
  operation: string,
  what: string,
  texts: readonly unknown[],
): boolean {
  for (const text of texts) {
    if (typeof text !== 'string' || !isTextOfMissing(text)) continue;
    engine.misuse('caller-missing', describeTextOfMissing(what, text), operation);
    return true;
  }
  return false;
}
