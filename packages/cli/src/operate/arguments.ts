/** Values of options that several commands take. Each throws `InvalidArgumentError`, which names the option. */

import { InvalidArgumentError } from 'commander';

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Some of these, with commas. */
export function someOf<Name extends string>(names: readonly Name[]): (text: string) => readonly Name[] {
  return (text) =>
    text.split(',').map((each) => {
      const found = names.find((name) => name === each.trim());
      if (found !== undefined) return found;
      throw new InvalidArgumentError(`"${each.trim()}" is none; they are ${names.join(', ')}.`);
    });
}
