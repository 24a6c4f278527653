import jsonata from 'jsonata'
import type { DestinationConfig } from '../../config/config.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entities } from '../../model/entities.ts'
import { columnsWhere, isInChangeLog } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { Expression } from './expressions.ts'

/** A column that an expression names at its top level, such as `row.chip`. Elsewhere a name may mean something else. */
interface NamedColumn {
  readonly of: string
  readonly column: string
}

/**
 * @param expressions which are valid JSONata.
 * @param hasRow whether they see the whole record as `row`.
 * @returns one sentence for each column that no table has: the value would always be empty.
 */
export function unknownColumns({ name }: Pick<DestinationConfig, 'name'>, expressions: readonly Expression[], hasRow: boolean): string[] {
  const ofTables = new Set(entities.flatMap((entity) => columnsWhere(entity, isInChangeLog)))
  const ofSubmissions = new Set(columnsWhere(submissions, ({ kind }) => kind !== 'raw'))
  const problemOf = ({ of, column }: NamedColumn): string | null => {
    if (of === 'row' && !hasRow) return 'but only filter has row; use after'
    if (of === 'submission') return ofSubmissions.has(column) ? null : `but submissions has no column ${column}`
    if (!['row', 'before', 'after'].includes(of) || ofTables.has(column)) return null
    return `but no table has a column ${column}`
  }
  return expressions.flatMap(({ name: where, text }) =>
    namedIn(jsonata(text).ast()).flatMap((named) => {
      const problem = problemOf(named)
      return problem === null ? [] : [`destination ${name}: ${where} uses ${named.of}.${named.column}, ${problem}`]
    }),
  )
}

/** Parts of an expression in which a name no longer starts at the top level. */
const OTHER_CONTEXT = new Set(['predicate', 'stages', 'group'])

function namedIn(node: unknown): NamedColumn[] {
  if (Array.isArray(node)) return node.flatMap(namedIn)
  if (!isObject(node) || node['type'] === 'transform') return []
  if (node['type'] !== 'path') return Object.entries(node).flatMap(([key, part]) => (OTHER_CONTEXT.has(key) ? [] : namedIn(part)))
  const [first, second] = Array.isArray(node['steps']) ? node['steps'] : []
  if (!isObject(first) || first['type'] !== 'name') return namedIn(first)
  return isObject(second) && second['type'] === 'name' ? [{ of: String(first['value']), column: String(second['value']) }] : []
}
