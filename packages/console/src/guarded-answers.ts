/** Answers of the console, each with headers that let its page do what it needs and nothing else. */

import type { Fault } from './api.ts';
import type { ConsoleFault } from './fault.ts';

/**
 * No script but the console's own file, no text made code, no other host, nobody's frame. Templates are made by Lit's
 * policy alone: whatever a key or a body holds, it is never read as markup.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  'trusted-types lit-html',
  "require-trusted-types-for 'script'",
].join('; ');

/** Of every answer. */
const GUARDS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** An answer with these headers and the guards. */
export function answer(
  status: number,
  body: BodyInit | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, { status, headers: { 'Cache-Control': 'no-store', ...GUARDS, ...headers } });
}

/** JSON. */
export function json(
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(status, JSON.stringify(value), {
    'Content-Type': 'application/json; charset=utf-8',
    ...headers,
  });
}

/** What went wrong. */
export function faultAnswer({ status, code, message }: ConsoleFault): Response {
  return json(status, { code, message } satisfies Fault);
}
