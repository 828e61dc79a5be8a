/** The same with `reserve: 'in-transaction'`: key, order and answer are one commit. */
import { openReserving } from './samekey-transaction.mjs';

/** @type {import('../contract.d.ts').OpenContender} */
export const open = (options) => openReserving('in-transaction', options);
