/**
 * Faults that a reader places by hand. Each is fixed to a message, the third from API 1 to the database say, and not
 * to a step: so the same faults can be placed in another version, where the steps are others. Until its message leaves,
 * a fault changes nothing.
 */

import type { Fault, FaultKind, LaneId, Message } from './trace.ts';

/** All kinds, in the order in which they are offered. */
export const FAULT_KINDS: readonly FaultKind[] = ['lose', 'hold', 'dies', 'sleeps', 'again', 'other'];

/** So many are placed at once, at most. */
export const FAULTS_MAX = 6;

/** The machine that a fault at this message stops: that of the API which sends or gets it. */
export function machineOf({ from, to }: Pick<Fault, 'from' | 'to'>): 'api-1' | 'api-2' | null {
  return [from, to].find((lane) => lane === 'api-1' || lane === 'api-2') ?? null;
}

/** A fault at one of the messages of a run. */
export function faultAt(messages: readonly Message[], at: number, kind: FaultKind): Fault {
  const { from = 'client', to = 'client' } = messages[at] ?? {};
  const before = messages.filter((one) => one.n <= at && one.from === from && one.to === to);
  return { kind, from, to, nth: before.length };
}

/** Writes them for an address: `lose.api-1.client.1_dies.client.api-2.1`. */
export function faultsText(faults: readonly Fault[]): string {
  return faults.map(({ kind, from, to, nth }) => [kind, from, to, nth].join('.')).join('_');
}

/** Reads them; leaves out what is no fault. */
export function faultsOf(text: string, lanes: readonly { readonly id: LaneId }[]): readonly Fault[] {
  const laneOf = (wanted: string | undefined): LaneId | undefined =>
    lanes.find(({ id }) => id === wanted)?.id;
  const faults = text.split('_').flatMap((one): Fault[] => {
    const [wanted, ...where] = one.split('.');
    const [from, to] = where.map(laneOf);
    const kind = FAULT_KINDS.find((known) => known === wanted);
    const nth = Number(where[2]);
    if (kind === undefined || from === undefined || to === undefined) return [];
    return Number.isSafeInteger(nth) && nth > 0 ? [{ kind, from, to, nth }] : [];
  });
  return faults.slice(0, FAULTS_MAX);
}
