import type { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import { attemptsOf } from '../actions/context.ts'
import { masked } from '../operations/hidden.ts'
import { showFix } from '../operations/index.ts'
import { type AnyOperation, unattended } from '../operations/operation.ts'
import { check } from '../operations/problems.ts'
import type { Found, McpParts } from './parts.ts'

/** @returns the input schema of a tool: the operation's input, with the field names and defaults of the tool. */
export function toolInputOf(op: AnyOperation): z.ZodObject {
  const defaults = Object.entries(op.toolDefaults ?? {}).map(([field, value]) => [field, op.input.shape[field]?.default(value)])
  const renamed = Object.entries(op.toolFields ?? {})
  const shape = { ...op.input.shape, ...Object.fromEntries(defaults) }
  if (renamed.length === 0) return op.input.safeExtend(Object.fromEntries(defaults))
  const nameOf = (field: string) => op.toolFields?.[field] ?? field
  return op.input.clone({ ...op.input.def, shape: Object.fromEntries(Object.entries(shape).map(([field, part]) => [nameOf(field), part])) })
}

/** Runs an operation as a tool, with the viewer role. @throws UsageError if the input is invalid. */
export async function callTool(p: McpParts, op: AnyOperation, given: object): Promise<Found> {
  // Validate the input again: the MCP server accepts texts that the database can't store.
  const checked = check(toolInputOf(op), given, (path) => path.join('.'))
  if ('problems' in checked) throw new UsageError(checked.problems)
  const fieldOf = new Map(Object.entries(op.toolFields ?? {}).map(([field, name]) => [name, field]))
  const input = Object.fromEntries(Object.entries(checked.value as object).map(([name, value]) => [fieldOf.get(name) ?? name, value]))
  const { left, isStillAllowed } = p
  const parts = {
    ...unattended,
    left,
    isStillAllowed,
    attempt: attemptsOf(p),
    role: 'viewer' as const,
    config: p.config(),
    sums: p.db,
    reload: null,
    showFix,
  }
  const nameOf = (field: string) => op.toolFields?.[field] ?? field
  return found(masked(op.output, await op.run({ ...p, ...parts, nameOf }, input)))
}

function found(output: unknown): Found {
  const { items, next_cursor: nextCursor, ...more } = output as { items?: unknown; next_cursor?: string | null }
  if (!Array.isArray(items) || nextCursor === undefined) return { data: output }
  return { data: Object.keys(more).length > 0 ? { items, ...more } : items, nextCursor }
}
