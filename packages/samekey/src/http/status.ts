/**
 * The status resource of an operation: how a request stands, for whoever sent it. Unfinished it answers 202, finished
 * the stored answer, byte for byte.
 *
 * Invariants: it is guarded by the scope: another caller's key answers 404, as one that never was · it reads and
 * changes nothing.
 */

import { mayBeKey } from '../core/key.ts';
import { outcomeSeen, unavailable } from '../engine/meeting.ts';
import { namesOldestFirst } from '../core/operation.ts';
import { type Outcome, retryAfter } from '../core/outcome.ts';
import { firstLiving, isExpired, isForgotten, type SamekeyRecord } from '../core/record.ts';
import { problemResponse, type StoredResponse } from '../core/response.ts';
import { encodeScope } from '../core/scope.ts';
import { aFunction, readOptions, required, type Table } from '../core/options.ts';
import { type Operation, type OperationInternals, operationInternals } from '../ways/define-operation.ts';
import { callerParts } from './caller.ts';
import { spokenAtDoor } from './dialect.ts';
import { httpDate } from './headers.ts';
import { compileRoute, type Route, ROUTE_ROWS, type RouteOptions } from './route.ts';

/** Options of a status resource. */
export interface StatusOptions<Native>
  extends Pick<
    RouteOptions<Native>,
    'scope' | 'dialect' | 'profile' | 'keyUniqueFor' | 'keyWasUniqueFor' | 'formerly'
  > {
  /** The key that the address names: `(req) => req.params.key`. */
  readonly key: (request: Native) => string;
}

const STATUS_ROWS = {
  scope: ROUTE_ROWS.scope,
  dialect: ROUTE_ROWS.dialect,
  profile: ROUTE_ROWS.profile,
  keyUniqueFor: ROUTE_ROWS.keyUniqueFor,
  keyWasUniqueFor: ROUTE_ROWS.keyWasUniqueFor,
  formerly: ROUTE_ROWS.formerly,
  key: required(aFunction()),
} satisfies Table<StatusOptions<never>>;

/** Makes it: from a request to its answer. Throws `OptionsError`. */
export function createStatus<Native>(
  operation: Operation<never, unknown>,
  options: StatusOptions<Native>,
): (request: Native) => Promise<StoredResponse> {
  const internals = operationInternals(operation);
  readOptions('serveStatus', STATUS_ROWS, options);
  const { key, ...rest } = options;
  const { engine, settings } = internals;
  const spoken = spokenAtDoor(rest, operation.name, settings);
  const route = compileRoute<Native>({}, { ...spoken, ...settings }, engine.world);
  return async (request) => {
    const { name } = internals.names;
    const parts = callerParts(engine, name, await route.scope(request));
    if (parts === null) return route.profile.render({ kind: 'anonymous' });
    const limited = await engine.look(settings, encodeScope(parts, null), name);
    if (limited !== null) return route.profile.render(limited);
    const wanted: unknown = key(request);
    // The address is the client's: what no key can be must not look like a fault of the store.
    if (!mayBeKey(wanted)) return NOT_FOUND;
    const scopes = await scopesOf(internals, route, request, parts);
    const record = await find(internals, scopes, wanted);
    const outcome = record === null ? await unseen(internals, scopes, wanted) : standingOf(record, internals);
    if (outcome === null) return NOT_FOUND;
    if (outcome.kind === 'replay') {
      const { response, expiresAt } = outcome;
      const expires = ['Idempotency-Key-Expires', httpDate(expiresAt)] as const;
      return { ...response, headers: [...response.headers, ...route.profile.replayHeaders, expires] };
    }
    // A look never runs anything, so nothing is executed here.
    return outcome.kind === 'executed' ? NOT_FOUND : route.profile.render(outcome);
  };
}

/** The one answer for every key that is not its caller's: told by identity. */
export const NOT_FOUND: StoredResponse = problemResponse(
  404,
  'not-found',
  'There is no such request of this caller.',
);

/** Where its record may be kept, oldest first. */
async function scopesOf<Native>(
  { engine, names }: OperationInternals<never>,
  { uniqueFor, wasUniqueFor, formerly }: Route<Native>,
  request: Native,
  parts: readonly string[],
): Promise<readonly string[]> {
  const kept = wasUniqueFor ?? uniqueFor;
  const all = namesOldestFirst(names);
  const at = (who: readonly string[], name: string, isFor: typeof kept): string =>
    encodeScope(who, isFor === 'caller' ? null : name);
  const scopes: string[] = [];
  for (const { scope, name } of formerly) {
    const who = scope === null ? parts : callerParts(engine, names.name, await scope(request));
    if (who !== null) for (const one of name === null ? all : [name]) scopes.push(at(who, one, kept));
  }
  for (const name of all) scopes.push(at(parts, name, kept));
  return [...new Set([...scopes, at(parts, names.name, uniqueFor)])];
}

async function find(
  { engine }: OperationInternals<never>,
  scopes: readonly string[],
  key: string,
): Promise<SamekeyRecord | null | undefined> {
  const records = await Promise.all(scopes.map((scope) => engine.findKept({ scope, key })));
  const found = records.filter((record) => record !== null && record !== undefined);
  const record = firstLiving(found, engine.world.wallNow()) ?? found[0];
  return record ?? (records.includes(undefined) ? undefined : null);
}

/** There is no record; a transaction may work on it that writes one at its end. */
async function unseen(
  internals: OperationInternals<never>,
  scopes: readonly string[],
  key: string,
): Promise<Outcome | null> {
  const { engine, mayBeUnseen } = internals;
  if (!mayBeUnseen) return null;
  const held = await Promise.all(scopes.map((scope) => engine.isReserved({ scope, key })));
  if (held.includes(true)) return { kind: 'pending', retryAfterMs: retryAfter(0) };
  if (held.includes(undefined)) return unavailable('store');
  // It may have ended since the first look.
  return standingOf(await find(internals, scopes, key), internals);
}

function standingOf(
  record: SamekeyRecord | null | undefined,
  internals: OperationInternals<never>,
): Outcome | null {
  return record === undefined ? unavailable('store') : standing(record, internals);
}

/** What is told; null: as if it had never been. */
function standing(record: SamekeyRecord | null, internals: OperationInternals<never>): Outcome | null {
  const { engine, settings, names } = internals;
  if (record === null || isForgotten(record)) return null;
  if (![names.name, ...(names.formerly ?? [])].includes(record.operation)) return null;
  if (record.formatVersion > engine.readVersion) return unavailable('newer-format', 5_000);
  const now = engine.world.wallNow();
  if (isExpired(record, now)) return null;
  const outcome = outcomeSeen(record, settings, now, engine.usual.of(record.operation));
  return outcome.kind === 'in-progress' ? { kind: 'pending', retryAfterMs: outcome.retryAfterMs } : outcome;
}
