import { Described, type DescribedOperation } from '../../tools/described.ts'
import { uuid } from '../../tools/observations.ts'
import { FIRST_AT } from './dialect.ts'
import { BUSY, DESTINATION, QUIET, type Scale, SECONDS_EACH, SUSPENDED, someSubmissions } from './rows.ts'

type Node = Readonly<Record<string, unknown>>

/** A request of a route, without its query's common values: what a bench measures. */
export interface SizeRequest {
  readonly path: string
  readonly isDownload: boolean
}

/** Waits for news or returns the whole description, so its duration says nothing. */
const LEFT_OUT = ['wait', 'openapi.json', 'asyncapi.json']

/**
 * GET requests for every described route: alone, with each value of each parameter, and with each two parameters. Downloads have none. @param known values of
 * parameters that the description doesn't list, by name.
 */
export function requestsOf(document: object, known: Readonly<Record<string, readonly string[]>>): SizeRequest[] {
  const { operations } = new Described(document)
  return operations
    .filter(({ method, path }) => method === 'get' && !LEFT_OUT.some((name) => path.endsWith(name)))
    .flatMap((operation) => requestsFor(operation, known))
}

function requestsFor(
  { path, parameters = [], responses }: DescribedOperation,
  known: Readonly<Record<string, readonly string[]>>,
): SizeRequest[] {
  const isDownload = !Object.keys(responses['200']?.content ?? {}).every((type) => type.endsWith('json'))
  const valuesOf = (name: string, schema: Node) => valuesIn(schema) ?? known[`${path} ${name}`] ?? known[name] ?? []
  const paths = parameters
    .filter((one) => one.in === 'path')
    .reduce(
      (some, { name, schema }) =>
        some.flatMap((text) => valuesOf(name, schema).map((value) => text.replace(`{${name}}`, encodeURIComponent(value)))),
      [path],
    )
  const queried = parameters.filter((one) => one.in === 'query' && !LEFT_OUT.includes(one.name))
  const pairs = queried.map(({ name, schema }) => valuesOf(name, schema).map((value) => `${name}=${encodeURIComponent(value)}`))
  const required = queried.flatMap((one, index) => (one.required === true ? (pairs[index] ?? []).slice(0, 1) : []))
  const more = isDownload ? [] : [...pairs.flat().map((pair) => [pair]), ...twosOf(pairs)]
  const queries = [[], ...more].map((query) =>
    [...required.filter((one) => !query.some((other) => nameOf(other) === nameOf(one))), ...query].join('&'),
  )
  return paths.flatMap((text) => [...new Set(queries)].map((query) => ({ path: query === '' ? text : `${text}?${query}`, isDownload })))
}

function nameOf(pair: string): string {
  return pair.slice(0, pair.indexOf('='))
}

/** Each value of each parameter with each value of each other one. */
function twosOf(values: readonly (readonly string[])[]): string[][] {
  return values.flatMap((some, index) =>
    values.slice(index + 1).flatMap((others) => some.flatMap((one) => others.map((other) => [one, other]))),
  )
}

function valuesIn(schema: Node): readonly string[] | null {
  const listed = schema['enum'] ?? (schema['items'] as Node | undefined)?.['enum']
  if (Array.isArray(listed)) return listed.map(String)
  return schema['type'] === 'boolean' ? ['true', 'false'] : null
}

/** Common and rare values of the filled database. */
export function knownValues(scale: Scale): Record<string, readonly string[]> {
  const submission = someSubmissions(scale, BUSY, 3).map((n) => uuid(9, n))[1] ?? ''
  const at = (share: number) => new Date((FIRST_AT + scale.events * SECONDS_EACH * share) * 1000).toISOString()
  return {
    account: [BUSY, QUIET],
    submission_id: [submission],
    destination: [DESTINATION, SUSPENDED],
    '/api/v1/accounts/{name}/completeness name': [BUSY],
    name: [DESTINATION, SUSPENDED],
    table: ['submissions', 'market_events', 'lanes', 'documents', 'changes'],
    key: [`["${submission}"]`],
    id: [String(Math.floor(scale.events / 2))],
    since: [at(0.999), at(0.5)],
    until: [at(0.5), at(0.001)],
    limit: ['200'],
    stage: ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available', 'unreachable', 'matched', 'unknown'],
    search: ['llc', 'insured bakery', 'zzz'],
    q: ['insured 17', 'llc', submission.slice(0, 30)],
    market: ['market', 'rare'],
    status: ['declined', 'in_progress'],
    text: ['client', 'zzz'],
    reason: ['HTTP 422: the client does not exist', 'zzz'],
    kind: ['submission.event', 'zzz'],
  }
}
