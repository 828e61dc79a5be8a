export type { OutboxMessage } from '../store/new-message.ts';
export { createOutbox, type DeadLetter, type Outbox, type OutboxOptions } from './outbox.ts';
