import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { ActionContext } from '../actions/context.ts'
import type { OperationContext } from '../operations/operation.ts'

/** Dependencies of the tools for one assistant. */
export interface McpParts extends ActionContext, Pick<OperationContext, 'left' | 'isStillAllowed'> {
  readonly config: () => Config
  readonly log: Log
  readonly version: string
  /** Whether tools that change data are offered: the role and the settings allow it. */
  readonly mayAct: boolean
}

export interface Found {
  readonly data: unknown
  /** null on a list's last page. */
  readonly nextCursor?: string | null
}
