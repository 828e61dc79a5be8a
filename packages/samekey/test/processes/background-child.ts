/** Starts the processes of the proof of background work and talks to them. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AskMessage, BackgroundOptions, FromBackground } from './background-protocol.ts';
import { programOf } from './program.ts';

/** What an API answered. */
export type BackgroundAnswer = Extract<FromBackground, { readonly type: 'answer' }>;

/** A process. */
export interface BackgroundChild {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  isUp(): boolean;
  /** Null when it ended first. */
  ask(message: Omit<AskMessage, 'type' | 'id'>): Promise<BackgroundAnswer | null>;
}

/** Starts one; resolves when it is ready, or has ended. `told` gets everything but answers. */
export async function startBackground(
  options: BackgroundOptions,
  told: (message: Exclude<FromBackground, BackgroundAnswer>, child: ChildProcess) => void,
): Promise<BackgroundChild> {
  const child = fork(programOf('background-process'), [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  let [isUp, count] = [true, 0];
  void ended.then(() => {
    isUp = false;
  });
  const waiting = new Map<number, (answer: BackgroundAnswer) => void>();
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: FromBackground) => {
      if (message.type === 'answer') waiting.get(message.id)?.(message);
      else if (message.type === 'ready') resolve();
      else told(message, child);
    });
  });
  await Promise.race([ready, ended]);
  return {
    process: child,
    ended,
    isUp: () => isUp,
    async ask(message) {
      if (!isUp) return null;
      count += 1;
      const id = count;
      const answer = new Promise<BackgroundAnswer>((resolve) => void waiting.set(id, resolve));
      child.send({ type: 'ask', id, ...message } satisfies AskMessage, () => undefined);
      return Promise.race([answer, ended.then(() => null)]);
    },
  };
}
