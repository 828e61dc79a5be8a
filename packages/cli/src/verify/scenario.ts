/** A scenario: one question to a service, with its source, and what a verdict on it is. */

import type { Probe } from './probe.ts';
import type { Level, Verdict } from './judgement.ts';

/** One question. */
export interface Scenario {
  /** In small letters with hyphens, stable. */
  readonly name: string;
  /** A sentence that states the behaviour. */
  readonly title: string;
  readonly level: Level;
  /** Where it is written. */
  readonly source: string;
  run(probe: Probe): Promise<Verdict>;
}
