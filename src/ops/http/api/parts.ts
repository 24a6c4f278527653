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

export interface AdminServerParts {
  /** Returns the current settings. A reload changes them. */
  readonly config: () => Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly version: string
  /** Aborts when the process stops. Actions then end after their current step. */
  readonly signal: AbortSignal
  readonly reload: () => Promise<ReloadResult>
}

export interface AdminParts extends AdminServerParts {
  /** Separate reader for totals. Without it, totals would block quick reads. */
  readonly sums: Db
}

/** Type of the server. Requests and answers get their types from the route's schemas. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the token or person. Empty until the request is checked. */
    who: string
    /** Owner of the token or session. null until the request is checked. */
    holder: Holder | null
    /** Checks again whether the token or session is valid. */
    isStillAllowed: () => Promise<boolean>
  }
}

export function actionContextFor(p: AdminParts, request: Pick<FastifyRequest, 'who'>): ActionContext {
  const { db, clock, signal, observer } = p
  return { db, clock, signal, observer, who: request.who }
}
