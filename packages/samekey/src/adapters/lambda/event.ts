/**
 * Events and results of AWS Lambda behind HTTP, in the four forms that they have.
 *
 * Sources: docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html (REST APIs),
 * …/http-api-develop-integrations-lambda.html (HTTP APIs, payload 1.0 and 2.0; repeated headers are joined by commas),
 * docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html (function URLs),
 * docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html (multi-value headers).
 */

import { fitsMount, type MatchedRoute } from '../../core/operation.ts';
import { NULL_BODY } from '../../http-fetch/below.ts';

type Lines = Readonly<Record<string, string | undefined>> | null;
type ManyLines = Readonly<Record<string, readonly string[] | undefined>> | null;

/** An event, as far as it is looked at: those of `@types/aws-lambda` fit. */
export interface LambdaEvent {
  readonly httpMethod?: string;
  readonly path?: string;
  readonly resource?: string;
  readonly rawPath?: string;
  readonly rawQueryString?: string;
  readonly routeKey?: string;
  readonly headers?: Lines;
  readonly multiValueHeaders?: ManyLines;
  readonly queryStringParameters?: Lines;
  readonly multiValueQueryStringParameters?: ManyLines;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
  readonly requestContext?: {
    readonly stage?: string;
    readonly elb?: unknown;
    readonly http?: { readonly method: string };
  };
}

/** What the function knows of its own end. */
export interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

/** An answer, in the form that the event asks for. */
export interface LambdaResult {
  readonly statusCode: number;
  readonly statusDescription?: string;
  readonly headers?: Readonly<Record<string, string | number | boolean>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  readonly cookies?: readonly string[];
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

export type Bytes = Uint8Array<ArrayBuffer>;

/** Whether it is of payload 2.0: HTTP APIs and function URLs. */
function isSecond(event: LambdaEvent): boolean {
  return event.requestContext?.http !== undefined;
}

/** The method, in upper case. */
export function methodOf(event: LambdaEvent): string {
  return (event.requestContext?.http?.method ?? event.httpMethod ?? 'GET').toUpperCase();
}

/** Path and query, as far as the platform tells how they were sent. */
export function targetOf(event: LambdaEvent): string {
  const query = isSecond(event) ? (event.rawQueryString ?? '') : queryOf(event);
  return `${pathOf(event)}${query === '' ? '' : `?${query}`}`;
}

/** Without the stage, which only payload 2.0 puts in front. */
function pathOf({ rawPath, path = '/', requestContext }: LambdaEvent): string {
  if (rawPath === undefined) return path;
  const stage = `/${requestContext?.stage ?? '$default'}`;
  return rawPath === stage || rawPath.startsWith(`${stage}/`) ? rawPath.slice(stage.length) || '/' : rawPath;
}

/** API Gateway has undone the encoding of a query, a load balancer has not. */
function queryOf(event: LambdaEvent): string {
  const { queryStringParameters, multiValueQueryStringParameters: many, requestContext } = event;
  const encode = requestContext?.elb === undefined ? encodeURIComponent : (text: string): string => text;
  return Object.entries(many ?? queryStringParameters ?? {})
    .flatMap(([name, values]) => [values ?? []].flat().map((value) => `${encode(name)}=${encode(value)}`))
    .join('&');
}

/** The field lines, in pairs. Where the platform joins them, what may be two is two (F80). */
export function linesOf(event: LambdaEvent): readonly string[] {
  const { headers, multiValueHeaders: many } = event;
  if (many !== undefined && many !== null)
    return Object.entries(many).flatMap(([name, values = []]) => values.flatMap((value) => [name, value]));
  return Object.entries(headers ?? {}).flatMap(([name, value = '']) =>
    value.split(',').flatMap((each) => [name, each.trim()]),
  );
}

/** The body as it came. */
export function bodyOf({ body, isBase64Encoded }: LambdaEvent): Bytes {
  return new Uint8Array(Buffer.from(body ?? '', isBase64Encoded === true ? 'base64' : 'utf8'));
}

/** The route that API Gateway has matched; null where it tells none, as for a proxy that takes every path. */
export function routeOf(event: LambdaEvent): MatchedRoute | null {
  const pattern = event.resource ?? event.routeKey?.split(' ')[1];
  if (pattern === undefined || pattern.includes('+}')) return null;
  // A REST API does not tell whether a route is for its method or for all.
  const isForMethod = event.routeKey !== undefined && !event.routeKey.startsWith('ANY ');
  // A base path of a domain of yours stands in front of what was matched.
  return { pattern, mount: '', fitsPath: fitsMount(pattern, pathOf(event)), foldsCase: false, isForMethod };
}

/** What a handler gave back, as an answer; null for what is none. Payload 2.0 takes any value for a 200 of JSON. */
export function responseOf(
  result: unknown,
  event: LambdaEvent,
): { readonly response: Response; readonly bytes: Bytes } | null {
  const given = result as Partial<LambdaResult> | null | undefined;
  if (typeof given?.statusCode !== 'number') {
    if (!isSecond(event) || result === undefined) return null;
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    return responseOf(
      { statusCode: 200, headers: { 'content-type': 'application/json' }, body: text },
      event,
    );
  }
  const { statusCode: status, headers = {}, multiValueHeaders = {}, cookies = [] } = given;
  const lines = new Headers();
  for (const [name, value] of Object.entries(headers)) lines.append(name, String(value));
  for (const [name, values] of Object.entries(multiValueHeaders)) {
    lines.delete(name);
    for (const value of values) lines.append(name, String(value));
  }
  for (const cookie of cookies) lines.append('set-cookie', cookie);
  const bytes = bodyOf({ body: given.body ?? null, isBase64Encoded: given.isBase64Encoded === true });
  const body = NULL_BODY.includes(status) ? null : bytes;
  return { response: new Response(body, { status, headers: lines }), bytes };
}

/** An answer in the form that the event asks for. */
export function resultOf(response: Response, bytes: Uint8Array, event: LambdaEvent): LambdaResult {
  const { status: statusCode } = response;
  const lines = [...response.headers];
  const text = textOf(bytes, response.headers);
  const common = {
    statusCode,
    body: text ?? Buffer.from(bytes).toString('base64'),
    isBase64Encoded: text === null,
  };
  if (isSecond(event)) {
    const headers = Object.fromEntries(lines.filter(([name]) => name !== 'set-cookie'));
    return { ...common, headers, cookies: response.headers.getSetCookie() };
  }
  const isBalancer = event.requestContext?.elb !== undefined;
  const description = isBalancer ? { statusDescription: `${statusCode} ${response.statusText}`.trim() } : {};
  if (isBalancer && !event.multiValueHeaders)
    return { ...common, ...description, headers: Object.fromEntries(lines) };
  // A header may be named as a property that every object has.
  const values = new Map<string, string[]>();
  for (const [name, value] of lines) values.set(name, [...(values.get(name) ?? []), value]);
  const multiValueHeaders = Object.fromEntries(values);
  return { ...common, ...description, multiValueHeaders };
}

/** Null for what is no text: it goes as Base64. */
function textOf(bytes: Uint8Array, headers: Headers): string | null {
  if (headers.has('content-encoding')) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
