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
  /** Current settings; a reload changes them. */
  readonly config: () => Config
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly version: string
  /** Aborts when the process stops; actions end after the current step. */
  readonly signal: AbortSignal
  readonly reload: () => Promise<ReloadResult>
}

export interface AdminParts extends AdminServerParts {
  /** Database connection for totals, so that they don't block quick reads. */
  readonly sums: Db
}

/** Server type whose route schemas determine request and answer types. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the token or person; empty until checked. */
    who: string
    /** Owner of the token or session; null until checked. */
    holder: Holder | null
    /** Checks the token or session again. */
    isStillAllowed: () => Promise<boolean>
  }
}

export function actionContextFor(p: AdminParts, request: Pick<FastifyRequest, 'who'>): ActionContext {
  const { db, clock, signal, observer } = p
  return { db, clock, signal, observer, who: request.who }
}
