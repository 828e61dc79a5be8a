/** Plays a plan on a `ServerResponse`, and notes what the application sees on its way. */

import type { ServerResponse } from 'node:http';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { CallPlan, Piece, Step } from './plan.ts';

/** What a plan throws by itself. */
export class PlannedError extends Error {}

/** What the application saw after each step. */
export type Sight = string[];

/** Plays the calls. Rejects with what the plan throws, and if the framework refused the end of the answer. */
export async function playCalls(res: ServerResponse, plan: CallPlan, sight: Sight): Promise<void> {
  // Of writes after the end: Node tells of them by an event.
  res.on('error', () => undefined);
  for (const step of plan.steps) {
    if (step.kind === 'throw') throw new PlannedError('planned');
    let said = 'ok';
    try {
      await play(res, step);
    } catch (error) {
      said = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
    }
    if (step.kind === 'destroy') return;
    sight.push(`${step.kind}: ${said}, ${stateOf(res)}`);
  }
  // A framework that refuses an end has answered nothing.
  if (!res.writableEnded) throw new PlannedError('refused');
}

function stateOf(res: ServerResponse): string {
  const { statusCode, statusMessage, headersSent, writableEnded } = res;
  // Node makes bytes of what it has sent of one of them.
  const headers = Object.entries(res.getHeaders()).map(([name, value]) => [
    name,
    [value].flat().map((one) => (Buffer.isBuffer(one) ? one.toString('latin1') : String(one))),
  ]);
  return JSON.stringify([statusCode, statusMessage, headersSent, writableEnded, headers]);
}

async function play(res: ServerResponse, step: Step): Promise<void> {
  switch (step.kind) {
    case 'status':
      res.statusCode = step.status;
      return;
    case 'message':
      res.statusMessage = step.text;
      return;
    case 'set':
      // Node keeps a list as it is given, and appends to it.
      res.setHeader(step.name, typeof step.value === 'object' ? [...step.value] : step.value);
      return;
    case 'append':
      res.appendHeader(step.name, [step.value].flat());
      return;
    case 'remove':
      res.removeHeader(step.name);
      return;
    case 'headers':
      res.setHeaders(new Map(step.lines));
      return;
    case 'head':
      head(res, step);
      return;
    case 'no-date':
      res.sendDate = false;
      return;
    case 'processing':
      res.writeProcessing();
      return;
    case 'flush':
      res.flushHeaders();
      return;
    case 'turn':
      await new Promise((resolve) => void setImmediate(resolve));
      return;
    case 'destroy':
      res.destroy();
      return;
    case 'write':
    case 'trailers':
    case 'end':
      await playBody(res, step);
      return;
    default:
      step.kind satisfies 'throw';
  }
}

async function playBody(
  res: ServerResponse,
  step: Extract<Step, { readonly kind: 'write' | 'trailers' | 'end' }>,
): Promise<void> {
  if (step.kind === 'trailers') {
    const { form, lines } = step;
    res.addTrailers((form === 'pairs' ? lines : Object.fromEntries(lines)) as never);
    return;
  }
  const { piece, callback } = step;
  const args = piece === null ? [] : argsOf(piece);
  if (step.kind === 'end') {
    call(res, 'end', callback === true ? [...args, () => undefined] : args);
  } else if (callback === 'awaited') {
    await new Promise<void>((resolve) => call(res, 'write', [...args, () => resolve()]));
  } else call(res, 'write', callback === 'none' ? args : [...args, () => undefined]);
}

function call(res: ServerResponse, name: 'end' | 'write', args: readonly unknown[]): void {
  (res[name] as (...all: unknown[]) => unknown).apply(res, [...args]);
}

function argsOf({ bytes, as }: Piece): readonly unknown[] {
  return as === 'bytes' ? [bytes] : [Buffer.from(bytes).toString(as), as];
}

function head(
  res: ServerResponse,
  { status, reason, form, lines }: Extract<Step, { readonly kind: 'head' }>,
): void {
  const headers = form === 'none' ? [] : [headersIn(form, lines)];
  (res.writeHead as (...all: unknown[]) => unknown).call(
    res,
    status,
    ...(reason === null ? [] : [reason]),
    ...headers,
  );
}

function headersIn(form: 'object' | 'flat' | 'pairs', lines: readonly HeaderLine[]): unknown {
  if (form === 'pairs') return lines.map(([name, value]) => [name, value]);
  if (form === 'flat') return lines.flat();
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of lines) {
    const before = headers[name];
    headers[name] = Object.hasOwn(headers, name) && before !== undefined ? [before, value].flat() : value;
  }
  return headers;
}
