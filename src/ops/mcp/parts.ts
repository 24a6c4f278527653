import type { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
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

/** A cursor of places that are lists of texts and numbers. */
export function cursorOf(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** The place in a cursor; null when it is none of these kinds. */
export function placeIn(cursor: string, kinds: readonly ('string' | 'number')[]): readonly (string | number)[] | null {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Json
    if (!Array.isArray(place) || place.length !== kinds.length) return null
    const isRight = place.every((part, index) => typeof part === kinds[index] && !(typeof part === 'string' && part.includes('\0')))
    return isRight ? (place as (string | number)[]) : null
  } catch {
    return null
  }
}
