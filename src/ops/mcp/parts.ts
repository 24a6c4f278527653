import type { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { ActionContext } from '../actions/context.ts'

/** What the tools work with, for one assistant. */
export interface McpParts extends ActionContext {
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

/** A tool that an assistant may call. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isReading: boolean
  readonly input: z.ZodObject
  readonly run: (p: McpParts, given: never) => Promise<Found>
}

/** Declares a tool whose `run` gets what its schema validated. */
export function tool<S extends z.ZodObject>(
  given: Omit<Tool, 'input' | 'run'> & { readonly input: S; readonly run: (p: McpParts, given: z.output<S>) => Promise<Found> },
): Tool {
  return given as Tool
}
