import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { ActionContext } from '../actions/context.ts'
import type { OperationContext } from '../operations/operation.ts'

/** What the tools need to serve one assistant. */
export interface McpParts extends ActionContext, Pick<OperationContext, 'left' | 'isStillAllowed'> {
  readonly config: () => Config
  readonly log: Log
  readonly version: string
  /** True if tools that change data are offered. The role and the settings must both allow them. */
  readonly mayAct: boolean
}

export interface Found {
  readonly data: unknown
  /** Cursor of the next page; null on the last page; undefined if `data` is not a list. */
  readonly nextCursor?: string | null
}
