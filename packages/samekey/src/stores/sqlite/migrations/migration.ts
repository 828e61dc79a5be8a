/** What a migration is: each is a file of its own, and `index.ts` gathers them in their order. */

/** One step of the schema, applied in one transaction together with its bookkeeping. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** The schema version of the oldest code that can work on a database at this version. */
  readonly minReader: number;
  readonly statements: readonly string[];
}
