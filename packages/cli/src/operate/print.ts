/** What a command says: lines for people, or one line of JSON for programs. */

import { withoutSecrets } from '../secrets.ts';

/** Writes a line, or an object as one line of JSON. What a terminal would take for a command is shown as what it is. */
export function say(what: string | object): void {
  // In JSON too: outside of texts there is no such character, and in a text its escape means the same.
  process.stdout.write(
    `${harmless(withoutSecrets(typeof what === 'string' ? what : JSON.stringify(what)))}\n`,
  );
}

/** A word to the person at the keyboard that must not get between the lines of the answer. */
export function note(text: string): void {
  process.stderr.write(`${harmless(withoutSecrets(text))}\n`);
}

/** A count and what is counted: `1 claim`, `2 claims`. */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Keys, reasons and bodies come from strangers: no escape sequence of theirs reaches a terminal. */
export function harmless(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
}

/** Control characters but tab and line feed, those that turn the direction of text, and those that nobody sees. */
// biome-ignore format: what is silenced must stand in the next line
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** What people wrote may have line breaks, and must not look like another row. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** Rows under their titles, each column as wide as its widest text; the last one as it is. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const lines = rows.map((row) => row.map(oneLine));
  const widths = titles.map((title, i) => Math.max(title.length, ...lines.map((row) => row[i]?.length ?? 0)));
  return [titles, ...lines].map((row) =>
    row
      .map((text, i) => (i === row.length - 1 ? text : text.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Pairs of a name and what it is. */
export function pairs(all: readonly (readonly [name: string, value: string])[]): readonly string[] {
  const width = Math.max(...all.map(([name]) => name.length));
  return all.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}
