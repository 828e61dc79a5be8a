/**
 * The payment provider: it takes money when it is asked to, remembers the keys that it is given, and can be asked
 * what it has taken. It knows nothing of Samekey. A call that has left lands, whatever becomes of its sender.
 */

import type { FakeWorld, Random } from '@samekey/testing/world';
import type { Books, Charge } from './books.ts';
import type { Recorder } from './run-recorder.ts';
import type { LaneId } from './trace.ts';
import type { Ways } from './ways.ts';
import { euros } from './http-lines.ts';
import { timesWord } from './judge.ts';

/** What is to be charged. */
interface Charging {
  readonly amountCents: number;
  /** The order that it is for. */
  readonly order: string;
  /** Under one key the provider takes money once; null: two calls are two charges. */
  readonly key: string | null;
}

/** How a call goes wrong. */
export interface CallFault {
  /** The reply never comes; the caller gives up after its time. */
  readonly losesReply?: boolean;
  /** How long the call is on its way, in milliseconds. */
  readonly wayMs?: number;
}

/** Who calls. */
interface Caller {
  readonly lane: LaneId;
  readonly world: FakeWorld;
}

/** What somebody asks about. */
type Wanted = { readonly order: string } | { readonly key: string };

/** The provider. */
export interface Provider {
  /** Rejects when there is no reply in time: the caller cannot know what happened. */
  charge(caller: Caller, charging: Charging, fault?: CallFault): Promise<Charge>;
  /** The charge for an order or under a key, or null. */
  find(caller: Caller, what: Wanted): Promise<Charge | null>;
  /** For how long a key is remembered, in milliseconds; default for ever. What was paid stays in the books. */
  remembersFor(ms: number): void;
  /** How long callers wait for a reply, in milliseconds. */
  readonly callTimeMaxMs: number;
}

/** Nobody knows what happened. */
export class NoReply extends Error {}

/** What it stands on. */
interface ProviderOptions {
  /** The time, in milliseconds. */
  readonly now: () => number;
  readonly ways: Ways;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly books: Books;
  /** Called when money was taken, before anybody hears of it. */
  readonly onTaken: () => void;
}

/** Opens a provider with empty books. */
export function openProvider({ now, ways, random, recorder, books, onTaken }: ProviderOptions): Provider {
  const byKey = new Map<string, { readonly charge: Charge; readonly at: number }>();
  let memoryMs = Number.POSITIVE_INFINITY;
  const callTimeMaxMs = 1_000;

  function take({ key, order, amountCents }: Charging): Taken {
    const kept = key === null ? undefined : byKey.get(key);
    const known = kept !== undefined && now() - kept.at <= memoryMs ? kept.charge : undefined;
    if (known !== undefined) return { charge: known, isNew: false, isSecond: false };
    const taken = books.take(order, amountCents);
    if (key !== null) byKey.set(key, { charge: taken.charge, at: now() });
    return { ...taken, isNew: true };
  }

  function book(charging: Charging, lane: LaneId): { readonly charge: Charge; readonly sent: number } {
    const { charge, isNew, isSecond } = take(charging);
    const times = books.charges.filter(({ order }) => order === charge.order).length;
    const [sent = -1] = recorder.happens({
      lane: 'provider',
      caption: captionOf(charge, isNew, times),
      tone: isSecond ? 'danger' : isNew ? 'money' : 'good',
      marks: [isSecond ? 'charged-again' : isNew ? 'charged' : 'already-charged'],
      sends: [
        {
          from: 'provider',
          to: lane,
          label: `200 ${charge.id}`,
          body: JSON.stringify(charge),
          tone: isSecond ? 'danger' : 'money',
        },
      ],
    });
    return { charge, sent };
  }

  return {
    callTimeMaxMs,

    remembersFor(ms) {
      memoryMs = ms;
    },

    charge({ lane, world }, charging, { losesReply = false, wayMs } = {}) {
      const me = recorder.nameOf(lane);
      const [asked = -1] = recorder.happens({
        lane,
        caption: `${me} runs the handler: it asks the provider to take ${euros(charging.amountCents)}.`,
        tone: 'money',
        sends: [
          {
            from: lane,
            to: 'provider',
            label: `charge ${euros(charging.amountCents)}`,
            headers: charging.key === null ? [] : [['Idempotency-Key', charging.key]],
            body: JSON.stringify({ order: charging.order, amountCents: charging.amountCents }),
            tone: 'money',
          },
        ],
      });
      return new Promise((resolve, reject) => {
        let isOver = false;
        const giveUp = world.setTimer(callTimeMaxMs, () => {
          isOver = true;
          reject(new NoReply('The provider did not answer in time.'));
        });
        ways.go(asked, wayMs ?? random.between(60, 160), () => {
          recorder.arrives(asked);
          const { charge, sent } = book(charging, lane);
          onTaken();
          ways.go(sent, random.between(20, 60), () => {
            if (losesReply) {
              recorder.loses(sent, {
                lane: 'provider',
                caption: `The provider's reply is lost. ${me} does not know that the money was taken.`,
                tone: 'danger',
                marks: ['answer-lost'],
              });
              return;
            }
            world.deliver(() => {
              recorder.arrives(sent);
              giveUp.cancel();
              if (!isOver) resolve(charge);
            });
          });
        });
      });
    },

    find({ lane, world }, wanted) {
      const name = 'key' in wanted ? wanted.key : wanted.order;
      const what = 'key' in wanted ? `the payment with the key ${name}` : `order ${name}`;
      const [asked = -1] = recorder.happens({
        lane,
        caption: `${recorder.nameOf(lane)} asks the provider: was ${what} paid?`,
        sends: [{ from: lane, to: 'provider', label: `paid? ${name}`, tone: 'plain' }],
      });
      return new Promise((resolve, reject) => {
        const giveUp = world.setTimer(callTimeMaxMs, () =>
          reject(new NoReply('The provider did not answer in time.')),
        );
        ways.go(asked, random.between(20, 60), () => {
          recorder.arrives(asked);
          const charge =
            ('key' in wanted
              ? byKey.get(wanted.key)?.charge
              : books.charges.find((one) => one.order === wanted.order)) ?? null;
          const [sent = -1] = recorder.happens({
            lane: 'provider',
            caption:
              charge === null
                ? `The provider has no charge for ${what}.`
                : `The provider looks into its books: yes, ${euros(charge.amountCents)}, charge ${charge.id}.`,
            tone: charge === null ? 'plain' : 'good',
            sends: [
              {
                from: 'provider',
                to: lane,
                label: charge === null ? 'no' : `yes, ${charge.id}`,
                tone: 'plain',
              },
            ],
          });
          ways.go(sent, random.between(20, 60), () =>
            world.deliver(() => {
              recorder.arrives(sent);
              giveUp.cancel();
              resolve(charge);
            }),
          );
        });
      });
    },
  };
}

interface Taken {
  readonly charge: Charge;
  /** False: it was taken under this key before. */
  readonly isNew: boolean;
  readonly isSecond: boolean;
}

function captionOf({ id, amountCents, order }: Charge, isNew: boolean, times: number): string {
  if (!isNew)
    return `The provider knows this key: ${id} was taken before. It takes nothing more and says so.`;
  const taken = `The provider takes ${euros(amountCents)} for order ${order}`;
  if (times < 2) return `${taken}: charge ${id}.`;
  return `${taken}, ${times === 2 ? 'a second time' : 'once more'}. The customer has paid ${timesWord(times)}.`;
}
