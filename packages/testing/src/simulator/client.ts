/**
 * A simulated client: sends its request, perhaps twice at once, stops listening when it takes too long, and tries again with
 * the same key until it is told an end.
 */

import type { RecordId } from 'samekey/internals/core/record';
import type { AuditedRequest } from '../audit/facts.ts';
import { type Context, shown } from './context.ts';
import { serve, type Served, type SimProcess } from './process.ts';
import type { Intent } from './scenario.ts';

/** A client at work. */
export interface Client {
  readonly intent: Intent;
  readonly id: RecordId;
  /** What it was told at last: an end, or null while it still tries. */
  end: Served | null;
  /** Since the faults are over. */
  tries: number;
}

/** After the faults a client is told an end within this many tries, or something is stuck. */
const CALM_TRIES_MAX = 60;

/** Starts a client; it goes on by itself in virtual time. */
export function startClient(context: Context, intent: Intent, id: RecordId): Client {
  const client: Client = { intent, id, end: null, tries: 0 };
  context.timeline.setTimer(intent.startMs, () => {
    for (let i = 1; i < intent.clicks; i += 1) send(context, client, () => undefined);
    attempt(context, client);
  });
  return client;
}

/** Tries again from the beginning, as a client that comes back later. */
export function comeBack(context: Context, client: Client): void {
  client.end = null;
  client.tries = 0;
  attempt(context, client);
}

function attempt(context: Context, client: Client): void {
  const { timeline, random, calm } = context;
  const { intent } = client;
  if (calm) client.tries += 1;
  if (client.tries > CALM_TRIES_MAX) {
    context.auditor.report(client.id, 'outside', `no end after ${client.tries} tries without faults`);
    client.end = { kind: 'threw' };
    return;
  }
  let listening = true;
  const again = (): void => {
    listening = false;
    const pauseMs = context.calm ? 200 + 20 * client.tries : intent.retryMs;
    timeline.setTimer(pauseMs + random.between(0, 30), () => attempt(context, client));
  };
  const patience = timeline.setTimer(calm ? 70_000 : intent.patienceMs, again);
  send(context, client, (served) => {
    if (!listening) return;
    patience.cancel();
    if (isEnd(served)) {
      listening = false;
      client.end = served;
    } else {
      again();
    }
  });
}

/** Sends one request to some process; `told` is called if the answer gets back. */
function send(context: Context, client: Client, told: (served: Served) => void): void {
  const { timeline, random } = context;
  const open = context.processes.filter(({ closing }) => !closing);
  // The balancer learns late that a process is closing.
  const process: SimProcess = random.pick(open.length === 0 || random.chance(0.1) ? context.processes : open);
  timeline.setTimer(random.between(0, 5), () =>
    process.world.deliver(() => {
      const { id, intent } = client;
      const request: AuditedRequest = {
        n: (context.requestCount += 1),
        id,
        body: intent.body,
        process: process.name,
        startedAt: timeline.now,
      };
      context.trace(id, () => `${process.name} gets request ${request.n}, body ${intent.body}`);
      void serve(context, process, request, intent).then((served) => {
        context.trace(id, () => `${process.name} answers request ${request.n}: ${shown(served)}`);
        const lost = !context.calm && context.scenario.kind !== 'calm' && random.chance(0.1);
        if (!lost) timeline.setTimer(random.between(0, 5), () => told(served));
      });
    }),
  );
}

/** Whether nothing else will ever be told. */
function isEnd(served: Served): boolean {
  switch (served.kind) {
    case 'executed':
      return served.state === 'completed' || served.state === 'failed';
    case 'replay':
    case 'response-not-stored':
    case 'mismatch':
    case 'expired':
    case 'attempts-exhausted':
      return true;
    default:
      return false;
  }
}
