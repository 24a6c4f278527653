import jsonata from 'jsonata'
import type { DestinationConfig, HttpDestination, RequestTemplate } from '../../config/config.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entities } from '../../model/entities.ts'
import { columnsWhere, isInChangeLog } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import { allExpressions, type Expression } from './expressions.ts'
import { problemOf } from './template-problem.ts'

/** Headers that the HTTP client sets automatically or refuses to send. */
const CONNECTION_HEADERS = /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|expect|proxy-authorization)$/

/**
 * Checks a destination's templates before anything starts, without evaluating them.
 * @returns one sentence per problem, such as an invalid expression, an unknown column, or a forbidden header.
 */
export function checkTemplates(destination: HttpDestination): string[] {
  const at = `destination ${destination.name}:`
  const { request, update, upload, lookup, check, probe } = destination
  const broken = allExpressions(destination).flatMap(({ name, text }) => {
    const problem = compileProblem(text)
    return problem === null ? [] : [`${at} ${name} is not a JSONata expression: ${problem}`]
  })
  return [
    ...authProblems(at, destination.auth),
    ...settingsProblems(destination).map((problem) => `${at} ${problem}`),
    ...Object.entries({ request, update, upload, lookup, check, probe }).flatMap(([name, template]) =>
      requestProblems(`${at} ${name}`, template),
    ),
    ...(broken.length > 0 ? broken : unknownColumns(destination, allExpressions(destination), false)),
  ]
}

function authProblems(at: string, auth: HttpDestination['auth']): string[] {
  if (auth?.type === 'header') return connectionProblems(`${at} auth.name`, auth.name)
  if (auth?.type !== 'login') return []
  const isOneMissing = (auth.refresh === null) !== (auth.refreshToken === null)
  return [
    ...connectionProblems(`${at} auth.header`, auth.header),
    ...requestProblems(`${at} auth.request`, auth.request, true),
    ...requestProblems(`${at} auth.refresh`, auth.refresh, true),
    ...(isOneMissing ? [`${at} auth.refresh and auth.refresh_token must be set together`] : []),
  ]
}

/** @returns one sentence per problem: a setting that needs a missing setting, or settings that exclude each other. */
function settingsProblems(destination: HttpDestination): string[] {
  const { request, update, remoteId, batch, upload, verify, check, lookup, documents, duplicate, refused } = destination
  const problems: readonly (readonly [boolean, string])[] = [
    // Without `remote_id`, no id at the target would be known, and every update would be skipped.
    [
      update !== null && remoteId === null && batch === null,
      'update needs remote_id: an update is sent only if the id of the record at the target is known',
    ],
    [upload !== null && upload.body === null, 'upload has no body; set it to document.file'],
    [verify !== null && check === null && lookup === null, 'verify needs check or lookup; set one of them'],
    ...Object.entries({ remote_id: remoteId, duplicate, refused }).map(
      ([key, text]) =>
        [batch !== null && text !== null, `${key} cannot apply to a whole batch; return it for each change in batch.result`] as const,
    ),
    [batch !== null && (documents || upload !== null), 'batch cannot be combined with documents or upload; remove one'],
    ...Object.entries({ request, update }).map(
      ([name, template]) =>
        [batch !== null && template?.body === null, `${name} needs a body that contains the changes of the batch (items)`] as const,
    ),
    [request.format === 'file' && !documents, 'request: format file needs documents: true'],
  ]
  return problems.flatMap(([isProblem, text]) => (isProblem ? [text] : []))
}

function connectionProblems(at: string, header: string): string[] {
  const name = header.toLowerCase()
  return CONNECTION_HEADERS.test(name) ? [`${at}: the header ${name} is set automatically; remove it`] : []
}

/** @param mayAuthorize whether the header `authorization` is allowed. */
function requestProblems(at: string, template: RequestTemplate | null, mayAuthorize = false): string[] {
  if (template === null) return []
  const headers = Object.keys(template.headers)
  const isForbidden = !mayAuthorize && headers.some((header) => header.toLowerCase() === 'authorization')
  return [
    ...headers.flatMap((header) => connectionProblems(`${at}.headers`, header)),
    ...(isForbidden ? [`${at}.headers: authorization can only be set by auth; remove it`] : []),
    ...(template.body !== null && /^(?:GET|HEAD)$/.test(template.method)
      ? [`${at}: a ${template.method} request cannot have a body; remove it`]
      : []),
  ]
}

/** @returns one sentence per problem of a destination's `filter`: invalid JSONata, or an unknown column. */
export function checkFilter(destination: Pick<DestinationConfig, 'name' | 'filter' | 'entities'>): string[] {
  const { name, filter } = destination
  if (filter === null) return []
  const problem = compileProblem(filter)
  return problem === null
    ? unknownColumns(destination, [{ name: 'filter', text: filter }], true)
    : [`destination ${name}: filter is not a JSONata expression: ${problem}`]
}

function compileProblem(text: string): string | null {
  try {
    jsonata(text)
    return null
  } catch (error) {
    return problemOf(error)
  }
}

/**
 * A column that an expression names at its top level, such as `row.chip`. Inside a predicate, for example, the same
 * name can have another meaning.
 */
interface NamedColumn {
  readonly of: string
  readonly column: string
}

/**
 * @param expressions valid JSONata.
 * @param hasRow whether the expressions see the record as `row`.
 * @returns one sentence per unknown column. The value of an unknown column would always be empty.
 */
export function unknownColumns({ name }: Pick<DestinationConfig, 'name'>, expressions: readonly Expression[], hasRow: boolean): string[] {
  const ofTables = new Set(entities.flatMap((entity) => columnsWhere(entity, isInChangeLog)))
  const ofSubmissions = new Set(columnsWhere(submissions, ({ kind }) => kind !== 'raw'))
  const problemOf = ({ of, column }: NamedColumn): string | null => {
    if (of === 'row' && !hasRow) return 'but row exists only in filter; use after'
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

/** Parts of an expression in which a name doesn't refer to the top level. */
const OTHER_CONTEXT = new Set(['predicate', 'stages', 'group'])

function namedIn(node: unknown): NamedColumn[] {
  if (Array.isArray(node)) return node.flatMap(namedIn)
  if (!isObject(node) || node['type'] === 'transform') return []
  if (node['type'] !== 'path') return Object.entries(node).flatMap(([key, part]) => (OTHER_CONTEXT.has(key) ? [] : namedIn(part)))
  const [first, second] = Array.isArray(node['steps']) ? node['steps'] : []
  if (!isObject(first) || first['type'] !== 'name') return namedIn(first)
  return isObject(second) && second['type'] === 'name' ? [{ of: String(first['value']), column: String(second['value']) }] : []
}
