/**
 * The app of the customer: it sends, waits for a while, is told something, and knows what that means for an order.
 */

import type { Intent } from './judge.ts';
import type { Recorder } from './run-recorder.ts';
import type { Stage } from './stage.ts';
import type { LaneId, Mark, Tone } from './trace.ts';
import { euros, type HttpAnswer, type HttpRequest, header, type Serve } from './http-lines.ts';

/** One try. */
interface Try {
  readonly intent: Intent;
  readonly key: string;
  /** Whose app it is; default the first one's. */
  readonly from?: LaneId;
  readonly to: LaneId;
  readonly serve: Serve;
  /** Who is logged in; default nobody in particular. */
  readonly caller?: string;
  /** What is sent; default the order and its amount. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly caption: string;
  readonly isRetry?: boolean;
  /** What gets lost on the way; default nothing. */
  readonly loses?: 'request' | 'answer' | null;
  /** How long the app waits for an answer, in milliseconds; default 2,000. */
  readonly patienceMs?: number;
}

/** Sends it. Null: the app has heard nothing in its time. */
export function send(stage: Stage, one: Try): Promise<HttpAnswer | null> {
  const { timeline, random, recorder, ways } = stage;
  const { intent, from = 'client', to, serve, loses = null, patienceMs = 2_000 } = one;
  const app = recorder.nameOf(from) === 'App' ? 'The app' : recorder.nameOf(from);
  const request = requestOf(one);
  const [asked = -1] = recorder.happens({
    lane: from,
    caption: one.caption,
    marks: [one.isRetry === true ? 'sent-again' : 'sent'],
    sends: [
      {
        from,
        to,
        label: `pay ${euros(intent.amountCents)}`,
        headers: [['POST', '/payments'], ...request.headers],
        body: request.body,
      },
    ],
  });
  const wayMs = (): number => random.between(20, 60);
  return new Promise((resolve) => {
    let isOver = false;
    const end = (answer: HttpAnswer | null): void => {
      if (isOver) return;
      isOver = true;
      patience.cancel();
      resolve(answer);
    };
    const patience = timeline.setTimer(patienceMs, () => {
      recorder.happens({
        lane: from,
        caption: `${app} has heard nothing for ${patienceMs / 1000} seconds. It cannot know whether it has paid.`,
        tone: 'danger',
      });
      end(null);
    });
    ways.go(asked, wayMs(), () => {
      if (loses === 'request') {
        recorder.loses(asked, {
          lane: 'network',
          caption: 'The request is lost on its way. Nobody has heard of the payment.',
          tone: 'danger',
        });
        return;
      }
      stage.world(to).deliver(() => {
        recorder.arrives(asked);
        void serve(request).then((answer) => {
          const sent = answers(stage, { from: to, to: from }, answer);
          ways.go(sent, wayMs(), () => {
            if (loses === 'answer') {
              recorder.loses(sent, {
                lane: 'network',
                caption: 'The answer is lost on its way back. The app will never see it.',
                tone: 'danger',
                marks: ['answer-lost'],
              });
              return;
            }
            recorder.arrives(sent);
            if (!isOver) tells(stage, { lane: from, app }, intent, answer);
            end(answer);
          });
        });
      });
    });
  });
}

function requestOf({ intent, key, caller, body }: Try): HttpRequest {
  return {
    method: 'POST',
    path: '/payments',
    headers: [
      ['Idempotency-Key', `"${key}"`],
      ['Content-Type', 'application/json'],
      ...(caller === undefined ? [] : [['Authorization', `Bearer ${caller}`] as const]),
    ],
    body: JSON.stringify(body ?? { order: intent.order, amountCents: intent.amountCents }),
  };
}

/** What the server says about an answer, by what stands in it. */
function answers(
  { recorder }: Stage,
  { from, to }: { readonly from: LaneId; readonly to: LaneId },
  answer: HttpAnswer,
): number {
  const me = recorder.nameOf(from);
  const { caption, tone, marks } = isLate(recorder) ? lateSaying(me) : saying(me, answer);
  const [sent = -1] = recorder.happens({
    lane: from,
    caption,
    tone,
    marks,
    sends: [
      {
        from,
        to,
        label: String(answer.status),
        headers: answer.headers,
        body: answer.body,
        tone,
      },
    ],
  });
  return sent;
}

interface Saying {
  readonly caption: string;
  readonly tone: Tone;
  readonly marks: readonly Mark[];
}

/** A late owner has just been refused, and answers what the row holds. */
function isLate({ steps }: Recorder): boolean {
  return steps.at(-1)?.marks.includes('late-write-refused') === true;
}

function lateSaying(me: string): Saying {
  return {
    caption: `${me} answers what the row holds: the answer of the attempt that counts.`,
    tone: 'good',
    marks: [],
  };
}

function saying(me: string, answer: HttpAnswer): Saying {
  if (header(answer, 'Idempotency-Replayed') === 'true')
    return {
      caption: `${me} sends the stored answer once more, byte for byte. The handler did not run.`,
      tone: 'good',
      marks: ['replayed'],
    };
  switch (codeOf(answer)) {
    case 'in-progress':
      return {
        caption: `${me} answers 409: this payment is being made right now. Ask again in a moment.`,
        tone: 'claim',
        marks: ['in-progress'],
      };
    case 'outcome-unknown':
      return {
        caption: `${me} answers 409: nobody knows yet what became of this payment. Do not pay again with another key.`,
        tone: 'claim',
        marks: ['unknown'],
      };
    case 'key-reused':
      return {
        caption: `${me} answers 422: this key was used for another request. Nothing runs.`,
        tone: 'good',
        marks: ['mismatch'],
      };
    default:
      if (answer.status === 202)
        return { caption: `${me} answers 202: noted, a worker has it.`, tone: 'claim', marks: [] };
      if (answer.status < 400)
        return { caption: `${me} answers ${answer.status}: paid.`, tone: 'good', marks: [] };
      return {
        caption:
          answer.status === 502
            ? `${me} answers 502: it has no reply from the provider.`
            : `${me} answers ${answer.status}: it did not work.`,
        tone: 'danger',
        marks: [],
      };
  }
}

/** What the app makes of it. */
function tells(
  { recorder, books }: Stage,
  { lane, app }: { readonly lane: LaneId; readonly app: string },
  intent: Intent,
  answer: HttpAnswer,
): void {
  const amount = euros(intent.amountCents);
  const code = codeOf(answer);
  if (answer.status === 202 || code === 'pending') {
    recorder.happens({ lane, caption: `${app} shows: your order is noted. It will ask how it stands.` });
  } else if (answer.status < 400) {
    intent.told = 'paid';
    const isPaid = books.charges.some(
      (one) => one.order === intent.order && one.amountCents === intent.amountCents,
    );
    const shows = `${app} shows: order ${intent.order} is paid, ${amount}.`;
    recorder.happens({
      lane,
      caption: isPaid ? shows : `${shows} But nobody has paid for it.`,
      tone: isPaid ? 'good' : 'danger',
      marks: ['told-paid'],
    });
  } else if (code === 'in-progress' || code === 'outcome-unknown') {
    recorder.happens({ lane, caption: `${app} shows: we are finding out. It keeps the key.` });
  } else if (answer.status >= 500) {
    recorder.happens({
      lane,
      caption: 'The app shows: please wait. It will try again with the same key.',
    });
  } else {
    intent.told = 'not-paid';
    recorder.happens({
      lane,
      caption:
        code === 'key-reused'
          ? `${app} is told that it has used one key for two orders. Order ${intent.order} is not paid.`
          : `${app} shows: order ${intent.order} is not paid.`,
    });
  }
}

/** The code of a problem document; undefined for other answers. */
export function codeOf({ body }: HttpAnswer): string | undefined {
  try {
    return (JSON.parse(body) as { readonly code?: string }).code;
  } catch {
    return undefined;
  }
}
