/** Medians and lines of a table. */

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

/**
 * Of numbers in ascending order; 0 of none.
 * @param {readonly number[]} sorted
 * @param {number} share between 0 and 1
 */
export function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * A line with median, least and most of the values; or a heading.
 * @param {string} name
 * @param {readonly number[] | readonly string[]} values
 */
export function row(name, values) {
  const numbers = values.filter((value) => typeof value === 'number');
  const cells =
    numbers.length === 0
      ? values
      : [median(numbers), Math.min(...numbers), Math.max(...numbers)].map((value) => value.toFixed(1));
  return name.padEnd(24) + cells.map((cell) => String(cell).padStart(10)).join('');
}
