/**
 * A signal that looks at the clock each time it is asked whether it is aborted. A process may stand still anywhere,
 * also between the last check before a call and the call (F69): timers that were due meanwhile fire only once the event
 * loop turns, and by then the request has left. HTTP clients ask their signal right before they send, so this is the
 * last moment at which a call that is too late can be kept back.
 *
 * Invariant: it is the controller's own signal, so whatever takes an `AbortSignal` takes it.
 */

/** The controller's signal; `look` aborts the controller if the time is up. */
export function lookingSignal(controller: AbortController, look: () => void): AbortSignal {
  const { signal } = controller;
  const isAborted = (): boolean => {
    if (!abortedOf(signal)) look();
    return abortedOf(signal);
  };
  return Object.defineProperties(signal, {
    aborted: { configurable: true, get: isAborted },
    throwIfAborted: {
      configurable: true,
      value: () => {
        if (isAborted()) throw signal.reason;
      },
    },
  });
}

/** As the platform says it. */
function abortedOf(signal: AbortSignal): boolean {
  return Reflect.get(AbortSignal.prototype, 'aborted', signal);
}
