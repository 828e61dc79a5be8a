export type { OutboxMessage } from '../core/new-message.ts';
export { createOutbox, type DeadLetter, type Outbox, type OutboxOptions } from './outbox.ts';
