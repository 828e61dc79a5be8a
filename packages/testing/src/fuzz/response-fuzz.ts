/**
 * The response fuzz: one plan is played by the bare application and by the protected one, and asked for again. The first
 * answer is the bare one's, to the byte; the retry is the first, or what the contract says of an answer that is not kept.
 *
 * Invariants: a round follows from its seed alone · every difference that is let pass is a rule here, with its source.
 * Sources: contract §6.2 (broken answers), §8.2 (what is not stored), §8.3 (streams over the limit).
 */

import type { HeaderLine } from 'samekey/internals/core/response';
import { createRandom } from '../random.ts';
import {
  type Becomes,
  becomesBy,
  becomesSilent,
  comparable,
  difference,
  faultOfProblem,
  keptLines,
  ownLines,
  withoutExpiry,
} from './answer-oracle.ts';
import { type FuzzBench, openBench, ROUTES, type Run, TIME_MAX_MS } from './bench.ts';
import type { FuzzDoor, FuzzRoute } from './door.ts';
import { type AnswerPlan, bodyOf, planOf } from './plan.ts';
import { answersOf, exchange, type SeenAnswer } from './raw-client.ts';

/** What one round found. */
export type Faults = string[];

/** A run of rounds over one pair of servers. */
export interface Fuzz {
  /** Plays the round of a seed; what is wrong, in words. */
  round(seed: number): Promise<Faults>;
  close(): Promise<void>;
}

/** A round under way. */
interface Round {
  readonly bench: FuzzBench;
  readonly door: FuzzDoor;
  readonly plan: AnswerPlan;
  readonly route: FuzzRoute;
  readonly id: string;
  readonly methods: readonly string[];
  readonly version: '1.0' | '1.1';
  readonly parts: readonly Uint8Array[];
  readonly faults: Faults;
}

/** Opens the response fuzz of a door. */
export async function responseFuzz(door: FuzzDoor): Promise<Fuzz> {
  const bench = await openBench(door);
  return {
    async round(seed) {
      const faults: Faults = [];
      const round = roundOf(bench, door, seed, faults);
      await play(round);
      bench.forget(round.id);
      return faults.map((fault) => `${door.name}, response, seed ${seed}: ${fault}`);
    },
    close: () => bench.close(),
  };
}

let ids = 0;

function roundOf(bench: FuzzBench, door: FuzzDoor, seed: number, faults: Faults): Round {
  const random = createRandom(seed + 2 ** 33);
  const plan = planOf(seed, door.speech);
  const route = random.pick(ROUTES);
  ids += 1;
  const id = `${seed}-${ids}`;
  const method = random.pick(['POST', 'POST', 'POST', 'PATCH', 'PUT', 'DELETE']);
  const version = random.chance(0.1) ? '1.0' : '1.1';
  const staysOpen = version === '1.1' && random.chance(0.3);
  const body = random.pick(['', '{"amount":1}', '[1,2]']);
  const lines = [
    `${method} ${route.path} HTTP/${version}`,
    'Host: samekey.test',
    `Idempotency-Key: key-${id}`,
    `x-plan: ${id}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...(staysOpen ? [] : ['Connection: close']),
  ];
  const asked = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const probe = Buffer.from('GET /probe HTTP/1.1\r\nHost: samekey.test\r\nConnection: close\r\n\r\n');
  bench.plan(id, plan);
  return {
    bench,
    door,
    plan,
    route,
    id,
    version,
    methods: staysOpen ? [method, 'GET'] : [method],
    parts: staysOpen ? [Buffer.concat([asked, probe])] : [asked],
    faults,
  };
}

async function play(round: Round): Promise<void> {
  const { bench, id, parts, faults } = round;
  const bare = await exchange(bench.bare.port, parts, round.methods, TIME_MAX_MS);
  const first = await exchange(bench.safe.port, parts, round.methods, TIME_MAX_MS);
  const [expected] = bench.bare.runsOf(id);
  const [run] = bench.safe.runsOf(id);
  if (expected === undefined || run === undefined)
    return void faults.push('the handler has not run, or not at one of the two');
  if (bare.isHung || first.isHung) {
    if (bare.isHung !== first.isHung) faults.push(`the ${bare.isHung ? 'bare' : 'protected'} one hung`);
    return;
  }
  compareSight(round, expected, run);
  if (!(await bench.recorded(`key-${id}`, 1))) return void faults.push('the attempt was not recorded');
  const [plain] = answersOf(bare.bytes, round.methods);
  const [given] = answersOf(first.bytes, round.methods);
  if (isBroken(round, expected, plain)) checkBroken(round, given);
  else if (isRefused(expected)) checkRefused(round, given);
  else if (isKeptThrow(round, expected)) checkKeptThrow(round, given);
  else compareFirst(round, bare.bytes, first.bytes);
  await checkRetry(
    round,
    expected,
    isRefused(expected) || isKeptThrow(round, expected) ? given : plain,
    given,
  );
  if (bench.took('contradiction').length > 0) faults.push('a contradiction was told');
}

/** The application sees what it would see without Samekey. */
function compareSight({ faults }: Round, expected: Run, run: Run): void {
  const [before, after] = [expected.sight, run.sight].map((sight) => sight.join('\n')) as [string, string];
  if (before !== after) faults.push(`the handler saw something else ${difference(before, after)}`);
  if (expected.end !== run.end) faults.push(`the handler ${run.end}, and ${expected.end} without Samekey`);
}

/** A source that breaks before its head has left may still be answered by the framework, or never have been asked. */
function isBroken({ door, plan }: Round, { end }: Run, plain: SeenAnswer | undefined): boolean {
  if (end !== 'broken') return false;
  if (plain?.isComplete !== true) return true;
  // Of calls the head has left.
  if (plan.kind === 'calls') return true;
  if (door.dropsBodiesOf?.includes(plain.status) === true) return plain.body.length > 0;
  return !(plain.isFramed && plain.status === 500);
}

/** The status that was given before the break; null: none, or none that anybody could tell from what stands there. */
function brokenAt({ door, plan }: Round, { status }: Run, plain: SeenAnswer | undefined): number | null {
  const { unsaidStatus = 200 } = door;
  const isUnsaid = plan.kind === 'value' && plain === undefined && status === unsaidStatus;
  return isUnsaid && bodyOf(plan).length === 0 ? null : status;
}

/** Contract §8.3: what broke off looks to its first client like no whole answer. */
function checkBroken({ faults, plan, route }: Round, given: SeenAnswer | undefined): void {
  if (given === undefined || !given.isComplete || !given.isFramed) return;
  if (given.status === 410 || given.status === 409) return;
  // Its head left, and by its head it had nothing more to come.
  const isEmpty = given.body.length === 0 && bodyOf(plan).length === 0;
  if (!isEmpty) faults.push(`an answer that broke off came as a whole ${given.status} (${route.path})`);
}

/**
 * Whether Node has refused the head that this run gave, and its framework answered. Node keeps what it had concluded of
 * that head (a length, that there is no body), and frames the error page by it; nothing of it is left here.
 */
function isRefused({ end, sight }: Run): boolean {
  return end === 'threw' && sight.some((line) => /^(head|write|end|flush): ERR_/.test(line));
}

function checkRefused({ faults }: Round, given: SeenAnswer | undefined): void {
  if (given?.status !== 500 || given.body.toString() !== 'error' || !given.isComplete)
    faults.push(`after a head that Node refused came ${given?.status} ${given?.body.toString()}`);
}

/** Contract §6.1: a throw that is kept is answered with what every retry gets, a 500 without a body. */
function isKeptThrow({ door, route }: Round, { end }: Run): boolean {
  return end === 'threw' && door.hearsThrows && route.options.policy === 'stripe';
}

function checkKeptThrow({ faults }: Round, given: SeenAnswer | undefined): void {
  if (given?.status !== 500 || given.body.length > 0 || !given.isComplete)
    faults.push(`a throw that is kept is answered ${given?.status} ${given?.body.toString()}`);
}

function compareFirst(round: Round, bare: Buffer, first: Buffer): void {
  const { door, faults, methods } = round;
  if (door.isByteTrue) {
    const [expected, came] = [comparable(bare), comparable(first)];
    if (expected !== came) faults.push(`the first answer is not the bare one ${difference(expected, came)}`);
    return;
  }
  const plain = answersOf(bare, methods);
  const isLost = door.leavesUnframed === true && plain[0]?.isFramed === false && plain[0].body.length === 0;
  const given = answersOf(first, methods).slice(0, isLost ? 1 : undefined);
  const [expected, came] = [shown(door, plain), shown(door, given)];
  if (expected !== came) faults.push(`the first answer is not the bare one ${difference(expected, came)}`);
}

/** What stays of answers where their framing is the platform's. */
function shown(door: FuzzDoor, answers: readonly SeenAnswer[]): string {
  const each = answers.map(({ status, headers, body, trailers, isComplete }) => [
    status,
    lowered(door, ownLines(withoutExpiry(headers).lines)),
    body.toString('latin1'),
    trailers,
    isComplete,
  ]);
  return JSON.stringify(each);
}

/** What the record became: by the status that the client of the bare one saw, or that was given before the break. */
function becomes(round: Round, run: Run, plain: SeenAnswer | undefined): Becomes {
  const { policy } = round.route.options;
  if (!isBroken(round, run, plain)) return becomesBy(policy, plain?.status ?? 0);
  const status = brokenAt(round, run, plain);
  return status === null ? becomesSilent(policy) : becomesBy(policy, status);
}

async function checkRetry(
  round: Round,
  expected: Run,
  plain: SeenAnswer | undefined,
  given: SeenAnswer | undefined,
): Promise<void> {
  const { bench, id, parts, faults, route } = round;
  const became = becomes(round, expected, plain);
  const came = await exchange(bench.safe.port, parts, round.methods, TIME_MAX_MS);
  const [again] = answersOf(came.bytes, round.methods);
  const runs = bench.safe.runsOf(id).length;
  const most = became === 'retryable' ? 2 : 1;
  if (runs !== most) faults.push(`the handler ran ${runs} times where the record is ${became}`);
  if (came.isHung) return void faults.push('the retry hung');
  if (became === 'retryable') {
    if (!isBroken(round, expected, plain) && plain !== undefined) compareAgain(round, plain, again);
    return;
  }
  if (again === undefined) return void faults.push('the retry was not answered');
  const wrong = (fault: string | null): void => {
    if (fault !== null) faults.push(`the retry ${fault}`);
  };
  if (became === 'unknown') return wrong(faultOfProblem(again, 409, 'outcome-unknown'));
  // Contract §6.1: where nobody knows a status, what is kept of a throw is a 500.
  const isCut = isBroken(round, expected, plain);
  if (isCut && brokenAt(round, expected, plain) === null)
    return wrong(again.status === 500 && again.isComplete ? null : `must be 500, is ${again.status}`);
  if (isCut || !isKept(round, expected, plain))
    return wrong(faultOfProblem(again, 410, 'response-not-stored'));
  if (plain === undefined) return;
  checkReplay(round, plain, again);
  const { count } = withoutExpiry(given?.headers ?? []);
  if (count !== 1 && !mayStream(round))
    faults.push(`the first answer says ${count} times until when (${route.path})`);
}

function compareAgain({ door, faults }: Round, plain: SeenAnswer, again: SeenAnswer | undefined): void {
  const [before, after] = [shown(door, [plain]), shown(door, again === undefined ? [] : [again])];
  if (before !== after) faults.push(`the second attempt is not the bare one ${difference(before, after)}`);
}

/** Contract §8.3: an answer over the limit is not kept, unless it has no body whatever was written. */
function isKept({ plan, route }: Round, run: Run, plain: SeenAnswer | undefined): boolean {
  const most = route.options.responseSizeMaxBytes ?? Number.POSITIVE_INFINITY;
  if (plain === undefined || [204, 304].includes(plain.status)) return true;
  // Frameworks leave out the body of this one.
  if (plain.status === 205 && plain.body.length === 0) return true;
  return (run.end === 'threw' ? plain.body : bodyOf(plan)).length <= most;
}

/** Contract §8.3: a head that leaves before the record is stored cannot say until when. */
function mayStream({ plan, route }: Round): boolean {
  if (route.options.responseSizeMaxBytes !== undefined) return true;
  const text = JSON.stringify(plan).toLowerCase();
  return text.includes('event-stream') || text.includes('"flush"');
}

function isMark([name]: HeaderLine): boolean {
  return name.toLowerCase() === 'idempotency-replayed';
}

/** Contract §8.2: status, lines in order, bytes and trailers of the first; framed anew, and marked. */
function checkReplay(round: Round, plain: SeenAnswer, again: SeenAnswer): void {
  const { faults, plan, route } = round;
  const storesCookies = route.options.storeSetCookie === true;
  const marks = again.headers.filter(isMark).map(([, value]) => value);
  if (marks.join() !== 'true') faults.push(`the retry is marked as replayed by "${marks.join()}"`);
  const { lines, count } = withoutExpiry(again.headers);
  if (count !== 1) faults.push(`the retry says ${count} times until when`);
  const hasBody = ![204, 304].includes(plain.status);
  // A length that lied is not repeated: all that was given is.
  const isWhole = plain.isComplete && plan.kind === 'value';
  const body = !hasBody ? '' : (isWhole ? plain.body : expectedBody(plan, plain)).toString('latin1');
  const isLeftOut = round.door.emptyStatuses?.includes(plain.status) === true && again.body.length === 0;
  const kept = comparedLines(round, keptLines(plain.headers, storesCookies), body);
  // They need chunks, which HTTP/1.0 does not know: one that was answered in chunks all the same is answered whole.
  const trailers = round.version === '1.0' ? [] : keptLines(plain.trailers, storesCookies);
  const expected = [plain.status, kept, body, trailers];
  const own = keptLines(
    lines.filter((line) => !isMark(line)),
    storesCookies,
  );
  const came = [
    again.status,
    comparedLines(round, own, body),
    isLeftOut ? body : again.body.toString('latin1'),
    again.trailers,
  ];
  const [before, after] = [JSON.stringify(expected), JSON.stringify(came)];
  if (before !== after) faults.push(`the retry is not the first ${difference(before, after)}`);
  if (!again.isComplete) faults.push('the retry is cut short');
}

function expectedBody(plan: AnswerPlan, plain: SeenAnswer): Buffer {
  return plain.status === 500 && plain.body.toString() === 'error' ? plain.body : bodyOf(plan);
}

/** Where framing is the platform's, so is the spelling of names (RFC 9110 §5.1). */
function lowered({ joinsLines }: FuzzDoor, lines: readonly HeaderLine[]): readonly HeaderLine[] {
  const same = lines.map(([name, value]): HeaderLine => [name.toLowerCase(), undoubled(value)]);
  if (joinsLines !== true) return same;
  const joined = new Map<string, string>();
  for (const [name, value] of same) {
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  // An empty line is an empty member, and none at the end.
  const lists = [...joined].map(([name, value]): HeaderLine => [name, value.trim()]);
  return lists.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Node encodes a head that leaves with a text once more, as UTF-8. With Samekey its octets leave as they were said. */
function undoubled(value: string): string {
  const decoded = Buffer.from(value, 'latin1').toString();
  return decoded.includes('\uFFFD') ? value : decoded;
}

function comparedLines({ door }: Round, lines: readonly HeaderLine[], body: string): readonly HeaderLine[] {
  if (door.isByteTrue) return lines;
  const { typesEmptyBodies } = door;
  return lowered(door, lines).filter(
    ([name, value]) => body !== '' || name !== 'content-type' || value !== typesEmptyBodies,
  );
}
