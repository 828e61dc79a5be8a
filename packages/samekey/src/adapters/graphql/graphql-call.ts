/**
 * One field of a mutation: its arguments as they are compared, and whether it is the only one of its document.
 *
 * Sources: GraphQL October 2021 §6.2.2 (mutations: fields of the root, one after the other), §3.5 (result coercion of
 * scalars); graphql-js 16.14 type/definition.ts (`GraphQLResolveInfo`).
 */

import type { GraphQLResolveInfo } from 'graphql';
import { registered } from '../../core/registered.ts';
import type { Call } from '../../http-call/call-exchange.ts';
import { linesOf, type RequestOfCalls } from '../../http-call/request-lines.ts';

/** A field that is resolved: what scope functions and their like get. */
export interface GraphqlCall<Args = unknown, Context = unknown> {
  readonly args: Args;
  readonly context: Context;
  readonly info: GraphQLResolveInfo;
}

/** The name of its operation. */
export function nameOf({ parentType, fieldName }: GraphQLResolveInfo): string {
  return `${parentType.name}.${fieldName}`;
}

/** A call as its flow sees it. `request` is that of its document. */
export function callOf<Native extends GraphqlCall>(
  native: Native,
  request: RequestOfCalls | null | undefined,
): Call<Native> {
  return {
    native,
    input: argumentsOf(native),
    headerLines: (name) => (request ? linesOf(request, name) : []),
    // The batch first: a document of several fields counts as its request's first, too.
    isOneOfSeveral: isLaterDocument(native.info, request) || isOneOfSeveral(native.info),
  };
}

/** What is used of a type, whatever copy of graphql has made it. */
interface Type {
  /** Of lists, and of what is not null. */
  readonly ofType?: Type;
  /** Of input objects. */
  getFields?(): Readonly<Record<string, { readonly type: Type }>>;
  /** Of scalars and enumerations. */
  serialize?(value: unknown): unknown;
  /** As a schema writes it: a list in brackets, what is not null with a mark behind. */
  toString(): string;
}

/** The arguments as a client writes them: scalars may have made dates of texts, enumerations any value of a name. */
function argumentsOf({ args, info: { parentType, fieldName } }: GraphqlCall): unknown {
  const given = Object.entries(args ?? {});
  const types = new Map<string, Type>(
    parentType.getFields()[fieldName]?.args.map(({ name, type }) => [name, type]),
  );
  return Object.fromEntries(given.map(([name, value]) => [name, written(value, types.get(name))]));
}

function written(value: unknown, type: Type | undefined): unknown {
  if (value === null || value === undefined || type === undefined) return value;
  const { ofType } = type;
  if (ofType !== undefined)
    return type.toString().endsWith(']') && Array.isArray(value)
      ? value.map((each) => written(each, ofType))
      : written(value, ofType);
  const fields = type.getFields?.();
  if (fields === undefined) return type.serialize === undefined ? value : type.serialize(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, written(member, fields[name]?.type)]),
  );
}

/** What is used of a selection, whatever copy of graphql has read it. */
interface SelectionSet {
  readonly selections: readonly {
    readonly kind: string;
    readonly name?: { readonly value: string };
    readonly alias?: { readonly value: string } | undefined;
    readonly selectionSet?: SelectionSet | undefined;
  }[];
}

type Fragments = Readonly<Record<string, { readonly selectionSet: SelectionSet }>>;

/** Whether its document asks for more than this one field, beside it or beside a field that it is in. */
function isOneOfSeveral({ path, operation, fragments }: GraphQLResolveInfo): boolean {
  const keys: (string | number)[] = [];
  for (let at: typeof path | undefined = path; at !== undefined; at = at.prev) keys.unshift(at.key);
  let sets: readonly SelectionSet[] = [operation.selectionSet];
  for (const key of keys) {
    // One field for each member of a list.
    if (typeof key === 'number') return true;
    const fields = sets.flatMap((set) => fieldsOf(set, fragments));
    if (fields.some((field) => field.key !== key)) return true;
    sets = fields.flatMap(({ set }) => set ?? []);
  }
  return false;
}

/** The fields of a selection, whatever directives say: what may be asked for counts. */
function fieldsOf(
  { selections }: SelectionSet,
  fragments: Fragments,
): readonly { readonly key: string | undefined; readonly set: SelectionSet | undefined }[] {
  return selections.flatMap(({ kind, name, alias, selectionSet: set }) => {
    if (kind === 'Field') return name?.value === '__typename' ? [] : [{ key: (alias ?? name)?.value, set }];
    const inner = set ?? fragments[name?.value ?? '']?.selectionSet;
    return inner === undefined ? [] : fieldsOf(inner, fragments);
  });
}

/** By request, the variables of its first document: graphql-js makes an object of them for each execution. */
const executions = registered('executions', () => new WeakMap<object, object>());

/** Whether its request has run another document before: a batch, or a socket. */
function isLaterDocument(
  { variableValues }: GraphQLResolveInfo,
  request: object | null | undefined,
): boolean {
  if (request === null || request === undefined) return false;
  const first = executions.get(request) ?? variableValues;
  executions.set(request, first);
  return first !== variableValues;
}
