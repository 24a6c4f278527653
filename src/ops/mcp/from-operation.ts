import { UsageError } from '../../base/errors.ts'
import { attemptsOf } from '../actions/context.ts'
import { masked } from '../operations/hidden.ts'
import type { AnyOperation } from '../operations/operation.ts'
import { check } from '../operations/problems.ts'
import type { Found, Tool } from './parts.ts'

/** The tool of an operation that assistants are offered. They see what a viewer sees. */
export function toolOf(op: AnyOperation & { readonly tool: string }): Tool {
  const defaults = Object.entries(op.toolDefaults ?? {}).map(([field, value]) => [field, op.input.shape[field]?.default(value)])
  const input = op.input.safeExtend(Object.fromEntries(defaults))
  return {
    name: op.tool,
    title: op.summary,
    description: op.description ?? op.summary,
    isReading: op.http.startsWith('GET '),
    input,
    run: async (p, given) => {
      const nameOf = (path: readonly PropertyKey[]) => path.join('.')
      // The server holds it against the schema, which does not know what no database can store.
      const checked = check(input, given, nameOf)
      if ('problems' in checked) throw new UsageError(checked.problems)
      const parts = { attempt: attemptsOf(p), config: p.config(), sums: p.db, reload: null, isTerminal: false, tell: () => undefined }
      const context = { ...p, ...parts, nameOf: (field: string) => field }
      return found(masked(op.output, await op.run(context, checked.value as never)))
    },
  }
}

function found(output: unknown): Found {
  const { items, next_cursor: nextCursor } = output as { items?: unknown; next_cursor?: string | null }
  return Array.isArray(items) && nextCursor !== undefined ? { data: items, nextCursor } : { data: output }
}
