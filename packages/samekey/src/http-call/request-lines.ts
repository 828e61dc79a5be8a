/** Header lines of an HTTP request that holds calls: of Node, of Fetch, or of a framework on one of them. */

/** What is used of it. */
export interface RequestOfCalls {
  readonly headers:
    | { get(name: string): string | null }
    | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Of Node: each line by itself. */
  readonly rawHeaders?: readonly string[];
}

/** The lines of a header, by its name in lower case, as far as the platform tells them apart. */
export function linesOf({ headers, rawHeaders }: RequestOfCalls, name: string): readonly string[] {
  if (rawHeaders !== undefined)
    return rawHeaders.filter((_line, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
  const given = typeof headers.get === 'function' ? headers.get(name) : (headers as Lines)[name];
  return given === null || given === undefined ? [] : [given].flat();
}

type Lines = Readonly<Record<string, string | readonly string[] | undefined>>;
