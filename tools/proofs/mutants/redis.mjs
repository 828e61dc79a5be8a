/** @type {import("./mutant.mjs").Mutant[]} */
export const redis = [];
