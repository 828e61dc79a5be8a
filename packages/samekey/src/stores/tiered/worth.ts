/**
 * Whether the shared cache is worth a question: only while many claims meet a final answer, as in a storm of retries.
 * On a quiet day nearly every key is new, and would pay for a question that finds nothing.
 */

/** The share of claims that met a final answer, of the last thousand or so. */
interface Worth {
  saw(claims: number, finals: number): void;
  readonly isWorth: boolean;
}

const CLAIMS_MAX = 1_000;

/** `shareMin` 0: always worth it. */
export function createWorth(shareMin: number): Worth {
  let claims = 0;
  let finals = 0;
  return {
    saw(more, moreFinal) {
      claims += more;
      finals += moreFinal;
      if (claims <= CLAIMS_MAX) return;
      claims /= 2;
      finals /= 2;
    },
    get isWorth() {
      return shareMin === 0 || (finals > 0 && finals >= shareMin * claims);
    },
  };
}
