/**
 * Merges what protected routes say into an OpenAPI document.
 *
 * Invariants: what the author wrote stands · what could not be added, or is said otherwise, is told · the document that
 * was given is not changed.
 */

import { OptionsError } from '../core/errors.ts';
import { listOf, objectOf, openApiDocument, resolved } from '../coverage/openapi.ts';
import { MARK, type Route } from '../coverage/listed-route.ts';
import { pathInDocument } from '../coverage/templates.ts';
import type { ResponsePart } from './answers.ts';
import { EXTENSION, type OperationPart, type ParameterPart, partOf } from './operation-part.ts';

/** What was left as the author has it, or out. */
export interface Told {
  readonly method: string;
  readonly path: string;
  /** The member of the operation that it is about; empty for the whole. */
  readonly what: string;
  readonly why: string;
}

/** A document with what its protected routes say. */
export interface Merged<Document> {
  readonly document: Document;
  readonly told: readonly Told[];
}

type Members = Record<string, unknown>;

const EXEMPT = 'x-idempotency-exempt';

/**
 * The document with parameters, answers and `x-idempotency` of the routes that `routesOf(app)` of `samekey/coverage`
 * lists; exempt ones say why. Throws `OptionsError` for what is no OpenAPI 3.1 document.
 */
export function mergeInto<Document extends object>(
  document: Document,
  { routes }: { readonly routes: readonly Route[] },
): Merged<Document> {
  const version = openApiDocument(document)?.['openapi'];
  if (typeof version !== 'string' || version.startsWith('3.0'))
    throw new OptionsError(
      `mergeInto takes an OpenAPI document of version 3.1 or newer; its version is ${JSON.stringify(version ?? null)}.`,
    );
  // As JSON, and not as a clone of objects: what two operations have in common in memory is two things in a document.
  const whole = JSON.parse(JSON.stringify(document)) as Document & Members;
  const told: Told[] = [];
  const shared = sharedResponses(whole);
  for (const route of routes) {
    const { method, path, protectedBy } = route;
    if (protectedBy === null) continue;
    const tell = (what: string, why: string): void => void told.push({ method, path, what, why });
    const operation = operationAt(whole, route, tell);
    if (operation === null) continue;
    if (protectedBy === 'exempt') {
      operation[EXEMPT] ??= route.reason;
      continue;
    }
    const door = route[MARK]?.door?.() ?? null;
    if (door === null)
      tell('', 'It is marked as protected, and its options are not known: describe it yourself.');
    else mergeOperation({ whole, operation, shared, tell }, inherited(whole, path), partOf(door));
  }
  return { document: whole, told };
}

/** Where one operation is merged. */
interface Place {
  readonly whole: Members;
  readonly operation: Members;
  readonly shared: (status: string, response: ResponsePart) => Members;
  readonly tell: (what: string, why: string) => void;
}

function operationAt(
  whole: Members,
  { method, path, protectedBy }: Route,
  tell: Place['tell'],
): Members | null {
  const at = pathInDocument(whole, path);
  const item = at === null ? undefined : (objectOf(whole['paths'])[at] as Members | undefined);
  const operation = item?.[method.toLowerCase()];
  if (typeof operation === 'object' && operation !== null) return operation as Members;
  if (protectedBy !== 'exempt')
    tell(
      '',
      item?.['$ref'] === undefined
        ? 'The document has no such operation.'
        : 'Its path is a reference: merge it there.',
    );
  return null;
}

/** Parameters of the whole path. */
function inherited(whole: Members, path: string): readonly unknown[] {
  const at = pathInDocument(whole, path);
  return at === null ? [] : listOf(objectOf(objectOf(whole['paths'])[at])['parameters']);
}

function mergeOperation(place: Place, ofPath: readonly unknown[], part: OperationPart): void {
  const { operation, tell } = place;
  const own = listOf(operation['parameters']);
  const added = part.parameters.filter((each) => !isDeclared(place, [...ofPath, ...own], each));
  if (added.length > 0) operation['parameters'] = [...own, ...added];
  const said = operation[EXTENSION];
  if (said === undefined) operation[EXTENSION] = part[EXTENSION];
  else if (JSON.stringify(said) !== JSON.stringify(part[EXTENSION]))
    tell(EXTENSION, 'It is there already, and says something else.');
  const responses = (operation['responses'] ??= {}) as Members;
  const { '2XX': answer, ...errors } = part.responses;
  if (answer !== undefined) mergeAnswer(place, responses, answer);
  for (const [status, response] of Object.entries(errors)) mergeError(place, responses, status, response);
}

/** Whether the author has declared it; what he says of it stands. */
function isDeclared({ whole, tell }: Place, declared: readonly unknown[], part: ParameterPart): boolean {
  const found = declared
    .map((each) => resolved(whole, each))
    .findLast(
      (each) => each?.['in'] === part.in && String(each['name']).toLowerCase() === part.name.toLowerCase(),
    );
  if (found === undefined || found === null) return false;
  if ((found['required'] === true) !== part.required)
    tell(
      `parameters/${part.name}`,
      part.required
        ? 'It is not declared as required, and requests without it are refused.'
        : 'It is declared as required, and requests without it are taken.',
    );
  return true;
}

/** Every answer of success gets the headers that it may have. */
function mergeAnswer({ tell }: Place, responses: Members, part: ResponsePart): void {
  const own = Object.keys(responses).filter((status) => /^[23](?:\d\d|XX)$/.test(status));
  if (own.length === 0) responses['2XX'] = part;
  for (const status of own) {
    const response = responses[status] as Members;
    if ('$ref' in response) tell(`responses/${status}`, 'It is a reference: its headers are not added.');
    else addHeaders(response, part);
  }
}

function mergeError(place: Place, responses: Members, status: string, part: ResponsePart): void {
  const own = responses[status] as Members | undefined;
  if (own === undefined) {
    responses[status] = place.shared(status, part);
    return;
  }
  const what = `responses/${status}`;
  if ('$ref' in own) return place.tell(what, 'It is a reference: what Samekey answers is not added.');
  addHeaders(own, part);
  const content = (own['content'] ??= {}) as Members;
  for (const [type, media] of Object.entries(part.content ?? {})) {
    if (content[type] === undefined) content[type] = media;
    else
      place.tell(
        `${what}/content/${type}`,
        'It is described already: see that it fits what Samekey answers as well.',
      );
  }
}

function addHeaders(response: Members, { headers }: ResponsePart): void {
  const own = objectOf(response['headers']);
  const known = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const added = Object.entries(headers).filter(([name]) => !known.has(name.toLowerCase()));
  if (added.length > 0) response['headers'] = { ...own, ...Object.fromEntries(added) };
}

/** Answers that several operations have stand in `components` once. */
function sharedResponses(whole: Members): Place['shared'] {
  return (status, response) => {
    const components = (whole['components'] ??= {}) as Members;
    const responses = (components['responses'] ??= {}) as Members;
    const text = JSON.stringify(response);
    for (let n = 1; ; n += 1) {
      const name = `Idempotency${status}${n === 1 ? '' : `-${n}`}`;
      const there = responses[name];
      if (there === undefined) responses[name] = response;
      else if (JSON.stringify(there) !== text) continue;
      return { $ref: `#/components/responses/${name}` };
    }
  };
}
