/** The seed of a test on real processes: `SAMEKEY_SEED`, else one of the day, printed so that it can be given again. */
export function seedOf(what: string): number {
  const given = process.env['SAMEKEY_SEED'];
  const seed = given === undefined ? Date.now() % 1_000_000 : Number(given);
  console.log(`${what}: SAMEKEY_SEED=${seed}`);
  return seed;
}
