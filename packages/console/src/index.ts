/** The operator's console, as a handler. */

export type { ConsoleRight } from './api.ts';
export { type Console, createConsole } from './create-console.ts';
export { CONSOLE_RIGHTS, type ConsoleOptions, type ConsoleToken, type ConsoleUser } from './options.ts';
