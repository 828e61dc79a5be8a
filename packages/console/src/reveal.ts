/**
 * What a record holds, as it stands there.
 *
 * Invariant: the audit has its row before anything is shown. Where no row can be written, nothing is.
 */

import type { RecordId } from 'samekey';
import type { WholeRecord } from 'samekey/operator';
import type { Revealed } from './api.ts';
import { ConsoleFault } from './fault.ts';
import { lookGently } from './gentle-look.ts';
import type { StoreOfConsole } from './overview.ts';

/** Of each text. */
const SHOWN_BYTES_MAX = 256 * 1024;

/** Writes the row, and gives it. Throws `ConsoleFault` where there is no such record. */
export async function reveal(
  store: StoreOfConsole,
  { scope, key }: RecordId,
  by: { readonly actor: string; readonly reason: string },
): Promise<Revealed> {
  const whole = await lookGently(store, { scope, key });
  if (whole === null) throw new ConsoleFault(404, 'absent', 'There is no such record.');
  const { operation, attempt } = whole.record;
  await store.note([{ scope, key, operation, attempt, act: 'reveal', from: null, to: null, ...by }]);
  return revealed(whole);
}

function revealed({ record, steps, messages }: WholeRecord): Revealed {
  const { response, input } = record;
  let isCut = false;
  const shown = (bytes: Uint8Array): string => {
    isCut ||= bytes.length > SHOWN_BYTES_MAX;
    return new TextDecoder().decode(bytes.subarray(0, SHOWN_BYTES_MAX));
  };
  const cut = (text: string): string => shown(new TextEncoder().encode(text));
  return {
    answer:
      response === null
        ? null
        : { headers: response.headers, body: response.body === null ? '' : shown(response.body) },
    input: input === null ? null : shown(input),
    results: (steps ?? []).map(({ name, result }) => ({ name, text: cut(JSON.stringify(result) ?? 'null') })),
    messages: messages.map(({ id, payload }) => ({ id, text: cut(payload) })),
    // After the texts, which say so.
    get isCut() {
      return isCut;
    },
  };
}
