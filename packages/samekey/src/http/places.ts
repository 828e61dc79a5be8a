/**
 * A request under each identity that its operation has or had, oldest first: the id of its record there, and how it is
 * compared.
 * Invariant: an operation that never changed has one identity, and costs nothing more.
 */

import type { Engine } from '../engine/engine.ts';
import type { Fingerprinter, FingerprintInput } from '../fingerprint/fingerprint.ts';
import { faultOfMove, movedPath, readRoute, type RoutePattern } from '../engine/bridge/moved-path.ts';
import {
  ANY_OPERATION,
  canonicalPath,
  fitsMount,
  foldCase,
  isRoute,
  type KeyUniqueFor,
  type OperationOfRequest,
} from '../core/operation.ts';
import type { Outcome } from '../core/outcome.ts';
import { type Fingerprint, idText, type RecordId } from '../core/record.ts';
import { encodeScope } from '../core/scope.ts';
import { NO_PLACES, type Place } from '../engine/work.ts';
import { callerParts, namesNobody } from './caller.ts';
import type { HttpRequest } from './exchange.ts';
import { describeFault, type Former } from './former.ts';
import type { Route } from './route.ts';

/** One request, before it is compared. */
export interface Asked<Native> {
  readonly native: Native;
  readonly request: HttpRequest;
  readonly operation: OperationOfRequest;
  readonly scope: readonly string[];
  readonly key: string;
}

/** An identity, and what of the request is compared under it. */
interface Identity<Native> {
  readonly id: RecordId;
  readonly fingerprinter: Fingerprinter;
  readonly bindTo: Former<Native>['bindTo'];
  readonly compared: Pick<FingerprintInput, 'method' | 'operation' | 'path' | 'isNamed'>;
}

/** Identities oldest first, the present one last; or why a bridge cannot be built. */
type Identities<Native> = { readonly all: readonly Identity<Native>[] } | { readonly outcome: Outcome };

const UNFIT: Outcome = { kind: 'unavailable', because: 'bridge-unfit', retryAfterMs: 5_000 };

/** Whether code before a deploy kept records elsewhere, or compared otherwise. */
export function isBridged({ formerly, wasUniqueFor }: Route<never>): boolean {
  return formerly.length > 0 || wasUniqueFor !== null;
}

/** The present identity of a request. */
export function identityNow<Native>(
  { uniqueFor, fingerprinter, bindTo }: Route<Native>,
  { operation, scope, key, request }: Asked<Native>,
): Identity<Native> {
  const { name, path, isNamed } = operation;
  return {
    id: idOf(scope, name, uniqueFor, key),
    fingerprinter,
    bindTo,
    compared: { method: request.method.toUpperCase(), operation: name, path, isNamed },
  };
}

function idOf(parts: readonly string[], name: string, kept: KeyUniqueFor, key: string): RecordId {
  return { scope: encodeScope(parts, kept === 'caller' ? null : name), key };
}

/** The identities of a request. Nothing is compared yet. */
export async function identitiesOf<Native>(
  engine: Engine,
  route: Route<Native>,
  asked: Asked<Native>,
): Promise<Identities<Native>> {
  const { operation, scope, key, request } = asked;
  const { uniqueFor, wasUniqueFor } = route;
  const now = identityNow(route, asked);
  const all: Identity<Native>[] = [];
  const present = operation.route === null ? null : readRoute(operation.route);
  for (const [index, former] of route.formerly.entries()) {
    const parts =
      former.scope === null ? scope : callerParts(engine, operation.label, await former.scope(asked.native));
    // This caller had no scope of that kind.
    if (parts === null) continue;
    const name = formerName(former, operation, request);
    const where = formerPlace(former, name, present, asked);
    if (where === 'elsewhere') continue;
    if (typeof where === 'string') {
      engine.misuse('bridge-unfit', describeFault(index, where), operation.label);
      return { outcome: UNFIT };
    }
    const isNamed = name !== ANY_OPERATION && !isRoute(name);
    all.push({
      id: idOf(parts, name, wasUniqueFor ?? uniqueFor, key),
      fingerprinter: former.fingerprinter ?? route.fingerprinter,
      bindTo: former.bindTo ?? route.bindTo,
      compared: { ...where, operation: name, isNamed },
    });
  }
  if (wasUniqueFor !== null) all.push({ ...now, id: idOf(scope, operation.name, wasUniqueFor, key) });
  return { all: [...all, now] };
}

/** Where a framework takes letter cases for one, so do the names of its routes. */
function formerName<Native>(
  { name }: Former<Native>,
  operation: OperationOfRequest,
  { route }: HttpRequest,
): string {
  if (name === null) return operation.name;
  return route?.foldsCase === true ? foldCase(name) : name;
}

/**
 * Method and path as they were; `elsewhere`: the request was none of that route's; any other text: why nobody can say.
 */
function formerPlace<Native>(
  { pattern }: Former<Native>,
  name: string,
  present: RoutePattern | null,
  { operation, request }: Asked<Native>,
): { readonly method: string; readonly path: string } | string {
  const method = pattern?.method ?? request.method.toUpperCase();
  // Protection for all routes compared paths as they came.
  if (pattern === null) return { method, path: name === ANY_OPERATION ? request.path : operation.path };
  if (operation.label === ANY_OPERATION) {
    // It stands for all routes now: which of them this request was of follows from its path.
    if (method !== request.method.toUpperCase() || !fitsMount(pattern.erased || '/', request.path))
      return 'elsewhere';
    return { method, path: canonicalPath(request.path, { pattern: pattern.erased || '/', mount: '' }) };
  }
  if (present === null)
    return 'nobody tells the present pattern here: name the operation by method and route, as in operation: "POST /v2/payments/:id"';
  const fault = faultOfMove(present, pattern);
  if (fault !== null) return fault;
  return {
    method,
    path: movedPath(operation.path, present, pattern) ?? operation.path,
  };
}

/** What of a request is the same under each identity. */
export type Common = Pick<FingerprintInput, 'query' | 'headers' | 'contentType' | 'body'>;

/** Identities with the ways to compare, as the engine takes them. `bound` is what the key is bound to as it is now. */
export async function placesOf<Native>(
  engine: Engine,
  all: readonly Identity<Native>[],
  { native, operation }: Asked<Native>,
  common: Common,
  bound: string | undefined,
): Promise<Places> {
  const now = all.at(-1) as Identity<Native>;
  const places: Bridged[] = [];
  for (const identity of all) {
    const binding =
      identity.bindTo === now.bindTo
        ? bound
        : await bindingOf(engine, operation.label, identity.bindTo, native);
    // Who was nobody then has no record of then.
    if (binding !== null)
      places.push({ ...placeOf(identity, common, binding), name: identity.compared.operation });
  }
  const tellsApart = now.compared.isNamed === true || now.bindTo !== null;
  const [oldest, younger] = ordered(places, tellsApart);
  return { ...oldest, fingerprint: await oldest.fingerprint(), younger };
}

/** The members of a `Work` that say where its record is. */
export type Places = Place & { readonly fingerprint: Fingerprint; readonly younger: readonly Place[] };

interface Bridged extends Place {
  readonly fingerprint: () => Promise<Fingerprint>;
  readonly name: string;
  readonly label: string;
}

/**
 * The place to claim at, and the others, the present one last. Where the oldest id is the present one too, no pointer
 * can stand there: old code must find a record bound as it binds it, unless it can tell that it does not know (503).
 */
function ordered(places: readonly Bridged[], tellsApart: boolean): readonly [Bridged, readonly Bridged[]] {
  const first = places[0] as Bridged;
  const now = places.at(-1) as Bridged;
  const text = idText(first.id);
  let chosen = places.findLast(({ id }) => idText(id) === text) ?? first;
  if (chosen === now && !(first.name === now.name && (tellsApart || first.label !== now.label)))
    chosen = first;
  return [chosen, chosen === now ? places : places.filter((one) => one !== chosen)];
}

function placeOf<Native>(
  { id, fingerprinter, compared }: Identity<Native>,
  common: Common,
  binding: string | undefined,
): Omit<Bridged, 'name'> {
  const input = inputOf(common, compared, binding);
  let made: Promise<Fingerprint> | null = null;
  return {
    id,
    label: fingerprinter.label,
    fingerprint() {
      made ??= Promise.resolve(fingerprinter.compute(input)).then((digest) => ({
        label: fingerprinter.label,
        digest,
      }));
      return made;
    },
    refingerprint: (label) => refingerprinted(fingerprinter, label, input),
  };
}

/** The same of an operation that never changed: one place. */
export function placeNow<Native>(
  { id, fingerprinter, compared }: Identity<Native>,
  common: Common,
  binding: string | undefined,
): Places | Promise<Places> {
  const input = inputOf(common, compared, binding);
  const { label } = fingerprinter;
  const placed = (digest: string): Places => ({
    id,
    fingerprint: { label, digest },
    refingerprint: (other) => refingerprinted(fingerprinter, other, input),
    younger: NO_PLACES,
  });
  const digest = fingerprinter.compute(input);
  return typeof digest === 'string' ? placed(digest) : digest.then(placed);
}

function inputOf(
  common: Common,
  compared: Identity<never>['compared'],
  binding: string | undefined,
): FingerprintInput {
  // Member by member: a spread makes an object of a shape that the compiler knows nothing of.
  const { query, headers, contentType, body } = common;
  const { method, operation, path, isNamed } = compared;
  const input = { method, operation, path, query, headers, contentType, body, isNamed: isNamed === true };
  return binding === undefined ? input : { ...input, binding };
}

async function refingerprinted(
  fingerprinter: Fingerprinter,
  label: string,
  input: FingerprintInput,
): Promise<Fingerprint | undefined> {
  const digest = await fingerprinter.computeFor(label, input);
  return digest === undefined ? undefined : { label, digest };
}

/** What a key is bound to; null: it names nobody. */
export async function bindingOf<Native>(
  engine: Engine,
  label: string,
  bindTo: Former<Native>['bindTo'],
  native: Native,
): Promise<string | undefined | null> {
  if (bindTo === null) return undefined;
  const binding = await bindTo(native);
  if (typeof binding !== 'string' || binding === '') return null;
  return namesNobody(engine, label, 'What bindTo gave', [binding]) ? null : binding;
}
