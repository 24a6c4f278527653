import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { ActionContext } from '../actions/context.ts'
import type { OperationContext } from '../operations/operation.ts'

/** What the tools work with, for one assistant. */
export interface McpParts extends ActionContext, Pick<OperationContext, 'left' | 'isStillAllowed'> {
  readonly config: () => Config
  readonly log: Log
  readonly version: string
  /** Whether tools that change something are offered: its role suffices, and the settings allow it. */
  readonly mayAct: boolean
}

/** What a tool found. */
export interface Found {
  readonly data: unknown
  /** Of a list: where it goes on; null at its end. */
  readonly nextCursor?: string | null
}
