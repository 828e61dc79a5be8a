/** Starts the processes of the proof of reconciliation and talks to them. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { FromReconcileProcess, PayMessage, ReconcileProcessOptions } from './reconcile-protocol.ts';
import { programOf } from './program.ts';

/** A process. */
export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  isUp(): boolean;
  /** Null when it ended first. `frozen` is called when it stands still. */
  pay(
    payment: Pick<PayMessage, 'key' | 'kind' | 'fate'>,
    frozen: (child: ChildProcess) => void,
  ): Promise<Extract<FromReconcileProcess, { type: 'answer' }> | null>;
}

/** Starts one; resolves when it is ready. */
export async function startChild(options: ReconcileProcessOptions): Promise<Child> {
  const child = fork(programOf('reconcile-process'), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // Many keys wait for their answers of one payer.
  child.setMaxListeners(0);
  const ended = once(child, 'exit');
  let isUp = true;
  let count = 0;
  void ended.then(() => {
    isUp = false;
  });
  await Promise.race([once(child, 'message'), ended]);
  return {
    process: child,
    ended,
    isUp: () => isUp,
    async pay(payment, frozen) {
      count += 1;
      const id = count;
      const answer = new Promise<Extract<FromReconcileProcess, { type: 'answer' }>>((resolve) => {
        const listen = (message: FromReconcileProcess): void => {
          if (message.type === 'ready' || message.id !== id) return;
          if (message.type === 'frozen') return frozen(child);
          child.off('message', listen);
          resolve(message);
        };
        child.on('message', listen);
      });
      child.send({ type: 'pay', id, ...payment } satisfies PayMessage, () => undefined);
      return Promise.race([answer, ended.then(() => null)]);
    },
  };
}
