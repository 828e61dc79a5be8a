/** Without its store a service cannot know what has run: nothing may run. */

import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Reply } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const storeDown: Scenario = {
  name: 'store-down',
  title: 'when its store is down the service refuses, and runs nothing',
  level: 'MUST',
  source: 'F44: fail closed',
  async run(probe) {
    const { store } = probe.settings;
    if (store === undefined) return notJudged('not judged: give --store-down-command and --store-up-command');
    const intent = probe.intent();
    let reply: Reply = { none: 'nothing was sent' };
    const count = await probe.executions(async () => {
      await store.down();
      try {
        reply = await probe.tell(intent);
      } finally {
        await store.up();
      }
    });
    reply = reply as Reply;
    if ('none' in reply && !(await probe.isAlive()))
      return notJudged('not judged: the service does not answer with its store either');
    if ('none' in reply)
      return fault(
        `without its store: ${reply.none}`,
        'Every client waits until its own time is up, and learns nothing.',
      );
    if (isSuccess(reply))
      return fault(
        `without its store a request was answered ${reply.status}`,
        'While the store is away every retry of every customer is charged again.',
      );
    if ((count ?? 0) > 0)
      return fault(
        `without its store a request was answered ${reply.status}, and it was executed`,
        'What was done is remembered by nobody: its retry is charged again.',
      );
    if (reply.status === 503) return held('503');
    if (reply.status >= 500) return held(`${reply.status} (503 would say that it passes)`);
    return notJudged(`not judged: without its store a request was answered ${reply.status}`);
  },
};
