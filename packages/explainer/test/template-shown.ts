/** What a template of lit would show, read without a browser: its text with the values in their places, and its handlers. */

type Handler = () => void;

function isTemplate(
  value: unknown,
): value is { readonly strings: readonly string[]; readonly values: readonly unknown[] } {
  return typeof value === 'object' && value !== null && 'strings' in value && 'values' in value;
}

/** Reads it. */
export function shownOf(value: unknown): { readonly text: string; readonly handlers: readonly Handler[] } {
  if (Array.isArray(value)) {
    const parts = value.map(shownOf);
    return {
      text: parts.map(({ text }) => text).join(''),
      handlers: parts.flatMap(({ handlers }) => handlers),
    };
  }
  if (typeof value === 'function') return { text: '', handlers: [value as Handler] };
  if (!isTemplate(value)) return { text: String(value), handlers: [] };
  const values = value.values.map(shownOf);
  const text = value.strings.map((before, i) => before + (values[i]?.text ?? '')).join('');
  return { text, handlers: values.flatMap(({ handlers }) => handlers) };
}
