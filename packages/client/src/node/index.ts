/** `@samekey/client/node`: pending operations in files, for programs that must survive their own end. */

export { filePending } from './file.ts';
