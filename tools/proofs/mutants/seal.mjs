/** @type {import("./mutant.mjs").Mutant[]} */
export const seal = [];
