/**
 * Which routes are not protected, for tests and for `samekey coverage`.
 */

export { markProtected, type Protection } from '../http/marker.ts';
export {
  type CoverageOptions,
  type CoverageReport,
  coverage,
  coverageText,
  expectFullCoverage,
  isListable,
  routesOf,
} from './coverage.ts';
export type { Disagreement } from './agreement.ts';
export { Exempt, type Exemption, type ExemptMiddleware, exempt } from './exempt.ts';
export { type FastifyLike, watchRoutes } from './fastify.ts';
export type { Route, Routes, Unseen } from './listed-route.ts';
