/**
 * Serving an operation over HTTP: which of a route's options are the operation's own, and how a request becomes its
 * input.
 *
 * Invariant: the input is made before anything is claimed, so that a request nobody can read claims nothing.
 */

import type { Engine } from '../engine/engine.ts';
import { NotExecutedError, OptionsError } from '../core/errors.ts';
import { aFunction, readOptions, type Table } from '../core/options.ts';
import { type OperationOptions, OPERATION_OPTIONS } from '../core/settings.ts';
import {
  checkInput,
  entryOf,
  keptInput,
  type Operation,
  type OperationInternals,
  operationInternals,
  takeDoor,
} from '../ways/define-operation.ts';
import { spokenAtDoor } from './dialect.ts';
import { parseJson } from './json-body.ts';
import type { Door } from './marker.ts';
import { CHANGING_METHODS, compileRoute, HTTP_ROWS, type Route, type RouteOptions } from './route.ts';
import type { Wrapped } from './wrapped.ts';

/** The request's body, content coding removed. */
export interface ServedBody {
  readonly bytes: Uint8Array;
  /** As text in UTF-8. */
  text(): string;
  /**
   * Parsed as JSON; undefined for an empty body. Throws `NotExecutedError` for anything else: the request gets a 400.
   */
  json(): unknown;
}

/** Options of a served operation: those of a route, without what the operation itself has said. */
export interface ServeOptions<Native, Input>
  extends Omit<RouteOptions<Native>, keyof OperationOptions | 'operation'> {
  /** Makes the operation's input; default the body as JSON. What `schema` takes is what this gives. */
  readonly input?: (request: Native, body: ServedBody) => Input | Promise<Input>;
  /**
   * For deferred operations: the address of the status resource, sent as `Location` with the 202. The key is the
   * client's own: `(req, key) => `/reports/status/${encodeURIComponent(key)}``. A route of `serveStatus` answers there.
   */
  readonly location?: (request: Native, key: string) => string;
}

/** A served operation. */
interface Served<Native> {
  readonly engine: Engine;
  readonly route: Route<Native>;
  readonly wrapped: Wrapped<Native>;
}

/** Why a served operation takes no `redact`. */
export const NO_REDACT =
  'A served operation makes its answer itself, for the first client as for the next: leave out of its reply what must not be stored.';

/** The rows of {@link ServeOptions}. */
export const SERVE_ROWS: Table<ServeOptions<never, never>> = {
  ...HTTP_ROWS,
  input: aFunction(),
  location: aFunction(),
};

/** Checks the options and puts the operation's own in place. Throws `OptionsError`. */
export function compileServed<Native, Input>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<Native, Input>,
): Served<Native> {
  const internals = operationInternals(operation);
  for (const name of [...OPERATION_OPTIONS, 'operation']) {
    if (name in Object(options)) {
      throw new OptionsError(
        `${name} belongs to the operation "${operation.name}": say it where it is defined.`,
      );
    }
  }
  readOptions('serve', SERVE_ROWS, options);
  const { settings } = internals;
  const { input: ownInput, location, ...ofRoute } = options;
  const routeOptions = spokenAtDoor(ofRoute, operation.name, settings);
  const input: NonNullable<typeof ownInput> = ownInput ?? ((_request, body) => body.json() as Input);
  if (routeOptions.required === false) {
    throw new OptionsError(
      'A served operation needs a key: required: false is for routes with a handler of their own.',
    );
  }
  if (routeOptions.skip !== undefined) {
    throw new OptionsError(
      'A served operation has nothing that a skipped request could pass to: skip is for routes with a handler of their own.',
    );
  }
  if (routeOptions.redact !== undefined) {
    throw new OptionsError(NO_REDACT);
  }
  const { name, formerly } = internals.names.spelt ?? { formerly: [], ...internals.names };
  const oldest = formerly[0] ?? name;
  const route = compileRoute<Native>(
    {},
    {
      // Nothing else answers here, so a request without a key has nowhere to pass to.
      methods: [...CHANGING_METHODS],
      ...routeOptions,
      ...settings,
      storeSetCookie: routeOptions.storeSetCookie ?? false,
      operation: name,
      // What this door was is older than the names that the operation has kept: its own entries begin with the oldest
      // of them.
      formerly: [
        ...(routeOptions.formerly ?? []).map((entry) =>
          typeof entry === 'string' || entry.name !== undefined ? entry : { ...entry, name: oldest },
        ),
        ...formerly,
      ],
    },
    internals.engine.world,
    internals.engine.fingerprintSecrets,
  );
  takeDoor(internals, 'serve');
  // What it says is of handlers that may have done something when they fail.
  const said = settings.whenClaimEnds === 'resume' ? undefined : ofRoute.dialect?.remark;
  return {
    engine: internals.engine,
    route: told(route, said, internals),
    wrapped: {
      mayBeUnseen: internals.mayBeUnseen,
      async prepare(request, bytes, schema) {
        const given = await input(request, bodyOf(bytes));
        const checked = await checkInput(internals, given, schema);
        if ('issues' in checked) return { invalid: checked.issues, input: null, ...entryOf(internals) };
        const kept = keptInput(internals, checked.value);
        return { handler: internals.handler(kept.input), input: kept.bytes, ...entryOf(internals) };
      },
      location: (request, key) => location?.(request, key) ?? null,
    },
  };
}

/** A route with what who describes it is told. */
function told<Native>(
  route: Route<Native>,
  remark: string | undefined,
  { pendingTimeMaxMs, schema }: Pick<OperationInternals<never>, 'pendingTimeMaxMs' | 'schema'>,
): Route<Native> & Pick<Door, 'served'> {
  const served = { isDeferred: pendingTimeMaxMs !== null, isChecked: (route.schema ?? schema) !== null };
  return Object.freeze({ ...route, ...(remark !== undefined && { remark }), served });
}

function bodyOf(bytes: Uint8Array): ServedBody {
  const text = (): string => new TextDecoder().decode(bytes);
  return {
    bytes,
    text,
    json() {
      const parsed = parseJson(bytes);
      if ('value' in parsed) return parsed.value;
      const { fault: cause } = parsed;
      throw new NotExecutedError('The request’s body is not JSON.', { correctable: true, cause });
    },
  };
}
