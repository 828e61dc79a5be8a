/**
 * Dialects: APIs and standards that are known, as data. Each is made from the provider's own pages; those, with the day
 * on which they were read, and what they leave open stand in docs/reference/dialects.md.
 */

export type { Dialect, DialectOperation, DialectRoute } from '../http/dialect.ts';
export {
  type Envelope,
  type EnvelopeBody,
  type EnvelopeCase,
  envelope,
} from '../http/profiles/errors-by-data.ts';
export { aip155, awsClientToken, icebergRest } from './clouds.ts';
export { acp, adcp, ucp, x402 } from './commerce.ts';
export { braintree, shopify } from './graphql.ts';
export { adyen, paypal, square, stripeV1, stripeV2 } from './payments.ts';
export { ietfDraft07, oasisRepeatable, zalando } from './standards.ts';
