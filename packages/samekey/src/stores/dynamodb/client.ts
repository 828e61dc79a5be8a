/**
 * What the store needs of a DynamoDB client: the aggregated `DynamoDB` of `@aws-sdk/client-dynamodb` (v3), as far as it
 * is used. Structural, so that the library depends on no SDK: its methods take plain input and need no command classes.
 */

/** A value as DynamoDB's protocol writes it. */
export type AttributeValue =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: Uint8Array }
  | { readonly BOOL: boolean }
  | { readonly L: readonly AttributeValue[] }
  | { readonly M: Item };

/** An item: attributes by name. */
export type Item = Readonly<Record<string, AttributeValue>>;

/** What an operation is given and gives; each field is looked at where it is used. */
export type Input = Readonly<Record<string, unknown>>;
export type Output = Readonly<Record<string, unknown>>;

/** The operations that the store calls. */
export type OperationName =
  | 'getItem'
  | 'putItem'
  | 'updateItem'
  | 'deleteItem'
  | 'query'
  | 'scan'
  | 'describeTable'
  | 'describeTimeToLive';

/** An open client; it stays its owner's. `new DynamoDB({ … })` of `@aws-sdk/client-dynamodb` is one. */
export type DynamoDbClient = {
  // The SDK's inputs are exact types of its own and differ by version: any function of input and options will do.
  readonly [name in OperationName]: (input: never, options?: never) => Promise<unknown>;
};
