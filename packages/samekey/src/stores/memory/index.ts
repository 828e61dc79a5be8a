export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory-store.ts';
export type {
  MemoryRows,
  MemoryTransaction,
  MemoryTransactions,
  WithinMemory,
} from './transactions.ts';
