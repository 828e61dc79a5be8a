export type { MessageHandler, ReceivedMessage } from './delivery.ts';
export type { Delivery } from './delivery.ts';
export type { WorkerEvent, WorkerEventType } from './worker-events.ts';
export type { BackoffOptions, WorkerOptions, WorkerProbePoint } from './options.ts';
export { type Publish, relay } from './relay.ts';
export { createWorker, type Worker } from './worker.ts';
