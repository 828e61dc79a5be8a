/**
 * Why: the explainer shows what people are to believe. A sound version that harms in one timing of a thousand would teach the wrong thing,
 * and so would a broken one that does not break as it tells. A round is one seed of every version of every story.
 */
import { check, SCENARIOS } from '../../packages/explainer/dist/model/index.js';
import { roundsOf } from './rounds.mjs';

export const name = 'explainer';

/** Seeds for which the shares of broken versions are judged. */
const JUDGED_MIN = 100;

/** @param {import('./rounds.mjs').ProofOptions} options */
export async function run(options) {
  const versions = SCENARIOS.flatMap((scenario) =>
    scenario.variants.map((variant) => ({ scenario, variant, harmed: 0 })),
  );
  const result = await roundsOf(options, { rounds: 1_000 }, async (seed) => {
    const checked = await Promise.all(
      versions.map(async (version) => {
        const { fault, didHarm } = await check(version.scenario, version.variant, seed);
        if (didHarm) version.harmed += 1;
        return fault;
      }),
    );
    return { failures: checked.filter((fault) => fault !== null), note: '' };
  });
  if (result.rounds < JUDGED_MIN) return result;
  const rare = versions.flatMap(({ scenario, variant, harmed }) => {
    const share = harmed / result.rounds;
    options.log?.(`${scenario.id}/${variant.id}: harm in ${harmed} of ${result.rounds} seeds`);
    return share >= (variant.breaks?.share ?? 0)
      ? []
      : [
          `${scenario.id}/${variant.id} does its harm in ${share} of the seeds, and tells of ${variant.breaks?.share}`,
        ];
  });
  for (const failure of rare) options.log?.(`FAILED ${failure}`);
  return { ...result, failures: [...result.failures, ...rare] };
}
