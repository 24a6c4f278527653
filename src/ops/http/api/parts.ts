import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Clock } from '../../../base/clock.ts'
import type { Log } from '../../../base/log.ts'
import type { Observer } from '../../../base/observer.ts'
import type { Config } from '../../../config/config.ts'
import type { Db } from '../../../store/engine/db.ts'
import type { ActionContext } from '../../actions/context.ts'
import type { ReloadResult } from '../../actions/reload.ts'
import type { Holder } from './tokens.ts'

/** What the admin server is made of. */
export interface AdminServerParts {
  /** The present settings: a reload changes them. */
  readonly config: () => Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly version: string
  /** Aborts when the process stops: an action of many steps then ends after the current one. */
  readonly signal: AbortSignal
  /** Reads the settings again and applies them. */
  readonly reload: () => Promise<ReloadResult>
}

/** What the admin routes work with. */
export interface AdminParts extends AdminServerParts {
  /** The database, for what sums up all of it: it holds up no other read. */
  readonly sums: Db
}

/** The server as the routes see it: their schemas give the types of requests and answers. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the request's token; empty until it was checked. */
    who: string
    /** Who bears the request's token or session; null until that was checked. */
    holder: Holder | null
    /** Whether that token or session is still valid. */
    isStillAllowed: () => Promise<boolean>
  }
}

/** What an action needs; its audit entry names the request's token. */
export function actionContextFor(p: AdminParts, request: Pick<FastifyRequest, 'who'>): ActionContext {
  const { db, clock, signal, observer } = p
  return { db, clock, signal, observer, who: request.who }
}
