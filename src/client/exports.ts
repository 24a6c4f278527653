export { type Auth, bearer } from './auth/auth.ts'
export { type ClientCredentials, clientCredentials } from './auth/client-credentials.ts'
export { type DeviceLogin, deviceLogin } from './auth/device.ts'
export { type LoopbackLogin, loopbackLogin } from './auth/loopback.ts'
export { type StoredTokens, type TokensOptions, tokens } from './auth/tokens.ts'
export type { BindRequestBody, CheckpointCommand, CreateBody, FormFillBody, PostBody, QuoteProductsBody } from './calls/bodies.ts'
export type { Download } from './calls/documents.ts'
export type { PageOptions } from './calls/submissions.ts'
export type { Attribution, FileContent, FileToSend } from './calls/writing.ts'
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
export type { Answers, AnswersResult } from './schemas/answers.ts'
export type { Appetite, AppetiteSearch, ProgramLine } from './schemas/appetite.ts'
export type { BindRequest } from './schemas/binding.ts'
export type { CheckpointReceipt } from './schemas/checkpoint.ts'
export type { Form, FormFillSession, QuoteSessions, SubmissionDocument } from './schemas/documents.ts'
export type { EventsPage, MarketEvent } from './schemas/events.ts'
export type { Identity } from './schemas/identity.ts'
export type { Metadata } from './schemas/oauth.ts'
export type { Outstanding, RequirementsView } from './schemas/requirements.ts'
export type { CreatedSubmission, FinalizeAnswer } from './schemas/submission-create.ts'
export type { ThreadMessage, ThreadPage, ThreadPostAnswer } from './schemas/thread.ts'
export type { Workspace } from './schemas/workspace.ts'
