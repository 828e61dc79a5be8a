export type { JanitorEvent, JanitorEventType, JanitorVerb } from './janitor-events.ts';
export { createJanitor, type Janitor, type JanitorReport } from './janitor.ts';
export type { JanitorOptions } from './options.ts';
