export type { BodyStore } from './bodies.ts';
export type { CompletionItem } from './completion.ts';
export type { DynamoDbClient } from './dynamodb-client.ts';
export type { TransactPut } from './element.ts';
export { type DynamoDbStore, dynamodbStore } from './dynamodb-store.ts';
export type { DynamoDbStoreOptions } from './options.ts';
export { type CreateTableInput, createTableInput, timeToLiveInput } from './table.ts';
export type { WithinDynamoDb } from './within.ts';
