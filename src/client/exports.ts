// What `submission-mirror/client` exports.
export { type Auth, bearer } from './auth/auth.ts'
export { type ClientCredentials, clientCredentials } from './auth/client-credentials.ts'
export { type DeviceLogin, deviceLogin } from './auth/device.ts'
export { type LoopbackLogin, loopbackLogin } from './auth/loopback.ts'
export { type StoredTokens, type TokensOptions, tokens } from './auth/tokens.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export {
  AssumptionsUnconfirmed,
  Busy,
  FileExists,
  Forbidden,
  LoginNeeded,
  NotBindable,
  NotFound,
  RateLimited,
  ServiceError,
  StaleApplication,
  Unauthenticated,
  UnexpectedAnswer,
  Unreachable,
  ValidationError,
} from './errors.ts'
export type { Feed } from './feeds.ts'
