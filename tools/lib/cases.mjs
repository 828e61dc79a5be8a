/**
 * Why: which cases from the field have a row in docs/internals/cases.md, what each is in a few words, and where one cannot occur. The check
 * (`tools/check-cases.mjs`) finds the tests.
 */

/**
 * Found in Samekey itself: what happens, and in words why a case cannot occur at the doors (`doors`) or in the stores (`stores`) where no
 * test of theirs cites it. F83–F85 and F107 are the client's and come with its next version; F116 is
 * not mended yet.
 * @type {Readonly<Record<string, { what: string, doors?: string, stores?: string }>>}
 */
export const REVIEWED = {
  F66: {
    what: 'the handler returns what JSON cannot hold',
    doors: 'a handler of a framework answers with bytes; what is served is a way',
  },
  F67: { what: 'somebody above the handler answers first', stores: 'stores see ends, not who gave them' },
  F68: {
    what: 'a time-out answers while the handler works',
    stores: 'the late end is a finish like any other (F6)',
  },
  F69: {
    what: 'the owner stands still between intent and call',
    doors: 'effects are called below the doors',
  },
  F70: { what: "an effect's result meets a short fault", doors: 'effects are called below the doors' },
  F71: { what: 'one process with a clock a day ahead', doors: 'no door reads a clock' },
  F72: { what: 'the profile changes', stores: 'a record is told by scope and key alone' },
  F73: {
    what: "a claim's reply is lost, then the process closes",
    doors: 'doors answer 503 and hold no claim',
  },
  F74: { what: 'spellings of one route', stores: 'a record is told by scope and key alone' },
  F75: { what: 'a publication for all tables', doors: 'the database alone' },
  F76: {
    what: 'refused connections until attempts are used up',
    doors: 'effects are called below the doors',
  },
  F77: { what: 'what is compared is no plain JSON', doors: 'what comes over HTTP is bytes' },
  F78: { what: 'a Map is returned', doors: 'what a framework sends is bytes' },
  F79: { what: 'header lines that are never stored', doors: 'the middleware passes the same gate (F40)' },
  F80: { what: 'field lines that a platform joined', stores: 'keys reach stores whole' },
  F81: { what: 'small streamed answers', stores: 'stores get whole answers' },
  F82: {
    what: 'a second copy of the package',
    doors: 'shown with copies of whole entries',
    stores: 'shown with copies of whole entries',
  },
  F86: {
    what: 'Retry-After of a running operation',
    doors: 'the outcome says it; every door prints it (F1)',
  },
  F87: { what: 'a misspelt option', doors: 'by the table of each', stores: 'by the table of each' },
  F88: { what: 'another header carries the key', stores: 'keys reach stores whole' },
  F89: {
    what: 'bad calls of run',
    doors: 'calls without HTTP; profiles are checked where routes are made',
    stores: 'refused before a store is asked',
  },
  F90: {
    what: 'JSON nested 5,000 deep',
    doors: 'served operations read it before the doors do',
    stores: 'refused before a store is asked',
  },
  F91: { what: 'many content codings', stores: 'refused before a store is asked' },
  F92: {
    what: 'verify acquits what it did not see',
    doors: 'verify asks from outside',
    stores: 'verify asks from outside',
  },
  F93: { what: 'an address with a fault in it', doors: 'the command alone', stores: 'the command alone' },
  F94: {
    what: 'pipes, ledgers, acceptances',
    doors: 'profiles and the flow decide it for every door',
    stores: 'hand-over is tested on each database (worker)',
  },
  F95: { what: 'bodies in files', doors: 'bodies are kept behind the store' },
  F96: { what: 'concrete paths in labels', stores: 'labels are made above the stores' },
  F97: { what: 'the text of a missing value as a scope', stores: 'refused before a store is asked' },
  F98: {
    what: 'a store that was never migrated, or is away',
    doors: 'told by the engine',
    stores: 'told by the engine, whatever the store',
  },
  F99: { what: 'PUT and DELETE on a route', stores: 'stores see no methods' },
  F100: { what: 'what works in a test only', doors: 'told by the instance', stores: 'told by the instance' },
  F101: { what: 'a whole body that is no JSON', stores: 'refused before a store is asked' },
  F102: { what: 'input refused before the claim', stores: 'a look-up, as any other' },
  F103: {
    what: 'clients that supply their ids',
    doors: 'verify asks from outside',
    stores: 'verify asks from outside',
  },
  F104: { what: 'a body that breaks off', stores: 'stores get whole answers or none' },
  F105: { what: 'what stripe-node is told', stores: 'profiles are above the stores' },
  F106: { what: 'form fields in another order', stores: 'stores see digests' },
  F108: {
    what: 'a machine with only Node',
    doors: 'tools/bare.mjs runs both commands of the README in CI',
    stores: 'the same',
  },
  F109: { what: 'steps, then the operation is of another way', doors: 'every door comes to the same claim' },
  F110: {
    what: "an effect's rule changes under an open intent",
    doors: 'effects are called below the doors',
  },
  F111: {
    what: 'scope, names and mounts change in a deploy',
    stores: 'a record is told by scope and key alone',
  },
  F112: {
    what: 'records in a format of newer code',
    doors: 'doors read no records',
  },
  F113: { what: 'routes move under their bridge', stores: 'a record is told by scope and key alone' },
  F114: { what: 'plain work becomes deferred, and back', doors: 'every door comes to the same claim' },
  F115: {
    what: 'coverage says full of what it did not see',
    doors: 'coverage reads routes from outside',
    stores: 'coverage knows no stores',
  },
  F117: { what: "a database server's clock is a day ahead for a moment", doors: 'no door reads a clock' },
  F118: {
    what: 'rules for keys and bodies are tightened',
    doors: 'played through a door by deployContract',
    stores: 'a claim carries what the code allows',
  },
  F119: {
    what: 'verify acquits what remembers little',
    doors: 'verify asks from outside',
    stores: 'verify asks from outside',
  },
  F120: {
    what: 'no key ring; served and also run; no rights',
    doors: 'the outcome says it; every door prints it (F1)',
  },
  F121: { what: 'a session with settings of its own', doors: 'the database alone' },
  F122: { what: "the handler's transaction was ended inside", doors: 'the database alone' },
  F123: { what: 'clear text beside a seal', doors: 'sealed behind the doors' },
  F124: { what: 'our savepoint and theirs', doors: 'the database alone' },
  F125: { what: 'a demoted primary still takes writes', doors: 'the database alone' },
  F126: { what: 'frozen between completion and COMMIT', doors: 'the database alone' },
  F141: {
    what: 'one provider id of two tenants',
    doors: 'told without a door',
    stores: 'found above the stores',
  },
  F142: { what: 'a dead letter outlives its request', doors: 'messages have no door' },
  F143: {
    what: 'a slow neighbour holds the quick ones',
    doors: 'workers have no door',
    stores: 'the completer works above the stores',
  },
  F144: { what: 'answers that are given by hand', doors: 'given without a door' },
  F145: { what: 'states that the table does not have', doors: 'given without a door' },
  F146: {
    what: "a frozen worker's late answer",
    doors: 'workers have no door',
    stores: 'a finish and a settlement, as any other',
  },
  F147: { what: 'work that JSON cannot hold is handed on', doors: 'handed on below the doors' },
  F148: { what: 'requeue over an answer that was given', doors: 'messages have no door' },
  F149: { what: 'what nobody can read, or one group, holds the rest', doors: 'workers have no door' },
  F150: { what: 'told before it is written', doors: 'workers have no door', stores: 'told above the stores' },
  F151: { what: 'a doctor that says ok', doors: 'the command alone' },
  F152: { what: 'two operators settle differently', doors: 'given without a door' },
  F153: { what: 'a webhook during the call', doors: 'told without a door', stores: 'found above the stores' },
  F154: { what: 'one foreign webhook, many large messages', doors: 'told without a door' },
  F155: { what: 'forgetting what may have happened', doors: 'given without a door' },
  F156: { what: 'prompts, pipes, lists, ledgers', doors: 'the command alone', stores: 'the command alone' },
};

/**
 * What a store has to do with; cases of headers, bodies and clients are tested where those are read.
 * @type {Readonly<Record<string, string>>}
 */
export const CASES = {
  F1: 'process killed after its claim',
  F3: 'save of the answer fails after the handler',
  F4: 'owner frozen beyond its claim',
  F5: 'one process holds an old and a new claim',
  F6: 'late write of an owner that lost its claim',
  F7: 'refused by a business rule, asked again',
  F8: 'a waiter gives up',
  F9: 'two workers begin at the same time',
  F10: 'one key for two operations',
  F11: 'many racers in several processes',
  F12: 'a racer with another body',
  F13: 'looked before the first finished, acts after',
  F14: "unique violation inside a caller's transaction",
  F15: 'reply to a claim lost',
  F16: 'unique violation of another column',
  F19: 'gateway time-out',
  F22: 'serialisation failure after a provider call',
  F25: 'two tenants, one key',
  F30: 'scope parts with separators',
  F35: '`A` and `a`',
  F38: 'empty and odd bodies',
  F39: 'bytes, compressed, large',
  F40: 'redirects and repeated headers',
  F44: 'store down, hanging, down at the end',
  F45: 'clocks hours off, time zones',
  F46: 'deadline set late in a long transaction',
  F47: 'reaper during traffic',
  F48: 'expired and not reaped',
  F49: 'store full',
  F50: 'item size limit',
  F51: 'messages committed out of order',
  F52: 'worker dies on one message',
  F53: 'relay crashes after the provider accepted',
  F54: 'busy against down',
  F55: 'retry after the retention',
  F58: 'settled after the retention',
  F60: 'long transaction at REPEATABLE READ',
  F61: 'owner wakes after a reconciler asked',
  F62: 'reopened while cached elsewhere',
  F63: 'handlers hold all connections',
  F64: "claim beside another's open transaction",
  F65: 'rolling restart',
};
