/**
 * Which claims are being asked for, and which were taken back. A call that took too long is made again, while the first
 * one still goes on: it must not take back what the second one is granted.
 *
 * Invariant: a claimId that somebody began to undo is never granted by this process, whenever the undoing arrives.
 */

interface Asking {
  readonly claimId: string;
}

/** Claims on their way. */
interface Askings {
  /** Call `end` when the call is over. */
  begin(requests: readonly Asking[]): {
    /** Whether nobody has asked for it since. */
    readonly isOnly: (request: Asking) => boolean;
    readonly end: () => void;
  };
  undone(requests: readonly Asking[]): void;
  isUndone(request: Asking): boolean;
}

/** More than calls that are made again hold, within the time a request waits for its store. */
const UNDONE_MAX = 20_000;

/** Makes it. */
export function createAskings(): Askings {
  const latest = new Map<string, number>();
  // In order of their coming: the oldest goes first.
  const undone = new Set<string>();
  let calls = 0;
  return {
    begin(requests) {
      calls += 1;
      const call = calls;
      const isOnly = ({ claimId }: Asking): boolean => latest.get(claimId) === call;
      for (const { claimId } of requests) latest.set(claimId, call);
      return {
        isOnly,
        end() {
          for (const request of requests) if (isOnly(request)) latest.delete(request.claimId);
        },
      };
    },
    undone(requests) {
      for (const { claimId } of requests) {
        undone.add(claimId);
        if (undone.size > UNDONE_MAX) undone.delete(undone.values().next().value as string);
      }
    },
    isUndone: ({ claimId }) => undone.has(claimId),
  };
}
