/** @type {import("./mutant.mjs").Mutant[]} */
export const messages = [];
