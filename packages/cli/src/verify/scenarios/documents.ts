/** What a refusal tells: a document that programs can read, and where it is explained. */

import { jsonOf, valueAt } from '../made-bodies.ts';
import { isRefusal, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { type Answer, valuesOf } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

/** Refusals by the key: a missing one, and one that was used for another request. */
async function refusals(probe: Probe): Promise<readonly Answer[]> {
  const intent = probe.intent();
  await probe.first(intent);
  const answers = [await probe.send(intent, { body: probe.otherBody(intent.body) })];
  if (probe.settings.isKeyRequired) answers.push(await probe.send(probe.intent(), { keyLines: [] }));
  return answers.filter(isRefusal);
}

const NONE = 'not judged: nothing was refused (see other-body and key-missing)';

export const errorDocuments: Scenario = {
  name: 'error-documents',
  title: 'refusals are documents that programs can read',
  level: 'SHOULD',
  source: 'draft-07 §2.7; RFC 9457 §3, §3.1; docs.stripe.com/api/errors',
  async run(probe) {
    const answers = await probe.shared(refusals);
    if (answers.length === 0) return notJudged(NONE);
    for (const answer of answers) {
      const wrong = probe.expects.errors === 'problem' ? problemFault(answer) : stripeFault(answer);
      if (wrong !== null)
        return fault(
          `${answer.status}: ${wrong}`,
          'Client libraries cannot tell one refusal from another but by its text.',
        );
    }
    return held(`${answers.length} refusals, all readable`);
  },
};

function problemFault({ status, lines, body }: Answer): string | null {
  const type = valuesOf(lines, 'content-type')[0] ?? 'none';
  if (!/^application\/problem\+json\b/i.test(type))
    return `Content-Type is ${type}, not application/problem+json`;
  const json = jsonOf(body);
  if (typeof json !== 'object' || json === null) return 'the body is no JSON object';
  const members = json as Readonly<Record<string, unknown>>;
  for (const name of ['type', 'title', 'detail', 'instance']) {
    if (members[name] !== undefined && typeof members[name] !== 'string') return `${name} is no string`;
  }
  const { type: uri, status: said, title } = members;
  if (typeof uri === 'string' && !URL.canParse(uri, 'http://any.example')) return 'type is no URI reference';
  if (said !== undefined && said !== status) return 'status is not the status of the answer';
  if (title === undefined && uri === undefined) return 'neither type nor title says what it is about';
  return null;
}

function stripeFault({ body }: Answer): string | null {
  const json = jsonOf(body);
  if (typeof valueAt(json, 'error.type') !== 'string') return 'there is no error.type';
  return typeof valueAt(json, 'error.message') === 'string' ? null : 'there is no error.message';
}

export const specification: Scenario = {
  name: 'specification',
  title: 'refusals lead to the published rules of the service',
  level: 'recommended',
  source: 'draft-07 §2.5, §2.7 (Link; rel="describedby" in its examples); RFC 8288',
  async run(probe) {
    const answers = await probe.shared(refusals);
    if (answers.length === 0) return notJudged(NONE);
    const lacking = answers.find((answer) => !leadsSomewhere(answer));
    if (lacking === undefined) return held('each refusal has a link');
    return fault(
      `${lacking.status} without a Link and without a type or doc_url that is one`,
      'A developer who meets the refusal has to guess how long keys live and what a retry has to look like.',
    );
  },
};

function leadsSomewhere({ lines, body }: Answer): boolean {
  if (valuesOf(lines, 'link').length > 0) return true;
  const json = jsonOf(body);
  return ['type', 'error.doc_url'].some((path) => /^https?:\/\//.test(String(valueAt(json, path))));
}
