import fc from 'fast-check'
import type { Described, DescribedOperation } from './described.ts'
import { type PlainRequest, plainRequest } from './plain-request.ts'

type Node = Readonly<Record<string, unknown>>

interface RandomRequest extends PlainRequest {
  readonly operation: DescribedOperation
}

export interface Ingredients {
  readonly seed: number
  readonly count: number
  readonly operations: readonly DescribedOperation[]
  /** Meaningful values, by names of parameters and fields. */
  readonly known: Readonly<Record<string, readonly unknown[]>>
  readonly authorizations: readonly (string | undefined)[]
}

/** Special names in JavaScript, and difficult texts. */
const strange = [
  '',
  ' ',
  '0',
  '-1',
  '1e9',
  'true',
  'null',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  '\ud800',
  '💥',
  "'; --",
  '../..',
  'x'.repeat(300),
]
const unreadable = ['%zz', '%', '%ff', '%00', '%2f', '..%2f', 'seven', '__proto__', 'constructor', '1', '0', 'x'.repeat(600)]

/**
 * Sends random requests, one after another. @param origin including a path prefix. @returns undocumented answers, and all statuses. @throws
 * without an answer.
 */
export async function askAtRandom(origin: string, described: Described, ingredients: Ingredients) {
  const wrong: object[] = []
  const statuses = new Set<number>()
  for (const { operation, ...request } of randomRequests(described.document, ingredients)) {
    const answer = await plainRequest(origin, request)
    statuses.add(answer.status)
    const problems = described.problems(operation, answer)
    const problem = { ...request, status: answer.status, problems, answer: answer.body.toString().slice(0, 1_000) }
    if (problems.length > 0) wrong.push(problem)
  }
  return { wrong, statuses }
}

/** @returns valid and invalid requests for a document's operations, deterministic by seed. */
function randomRequests(document: Node, { seed, count, operations, known, authorizations }: Ingredients): RandomRequest[] {
  const valuesOf = (name: string) => (Object.hasOwn(known, name) ? (known[name] ?? []) : [])
  const resolved = (schema: Node): Node => {
    const ref = schema['$ref']
    if (typeof ref !== 'string') return schema
    return ref
      .slice(2)
      .split('/')
      .reduce<Node>((node, part) => node[part] as Node, document)
  }

  /** Values of a schema, and sometimes others. */
  const someOf = (given: Node, name: string, depth: number): fc.Arbitrary<unknown> => {
    const right = rightValueOf(resolved(given), name, depth)
    const own = valuesOf(name)
    return fc.oneof(
      { weight: 40, arbitrary: right },
      ...(own.length > 0 ? [{ weight: 160, arbitrary: fc.constantFrom(...own) }] : []),
      { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 0, -1, 1e300, true, [], {}, ...strange) },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    )
  }
  const rightValueOf = (schema: Node, name: string, depth: number): fc.Arbitrary<unknown> => {
    const choices = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']) as readonly Node[] | undefined
    if (choices) return fc.oneof(...choices.map((one) => someOf(one, name, depth)))
    if ('const' in schema) return fc.constant(schema['const'])
    const named = (schema['enum'] ?? schema['x-known-values']) as readonly unknown[] | undefined
    if (named) return fc.constantFrom(...named)
    switch (schema['type']) {
      case 'integer':
      case 'number':
        return fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(Number(schema['minimum'] ?? 1), Number(schema['maximum'] ?? 100)))
      case 'boolean':
        return fc.boolean()
      case 'array':
        return fc.array(someOf((schema['items'] as Node | undefined) ?? {}, name, depth + 1), { maxLength: 3 })
      case 'string':
        return textOf(schema)
      default:
        return schema['properties'] && depth < 6 ? objectOf(schema, depth) : fc.jsonValue({ maxDepth: 1 })
    }
  }
  const objectOf = (schema: Node, depth: number) => {
    const fields = Object.entries(schema['properties'] as Readonly<Record<string, Node>>)
    const required = (schema['required'] as readonly string[] | undefined) ?? []
    return fc.record(Object.fromEntries(fields.map(([name, node]) => [name, someOf(node, name, depth + 1)])), {
      requiredKeys: [...required],
    })
  }

  const partOfPath = (name: string): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...valuesOf(name).map((value) => encodeURIComponent(String(value))), 'nobody') },
      { weight: 2, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: fc.constantFrom(...unreadable) },
    )
  const pathOf = ({ path }: DescribedOperation) =>
    fc
      .tuple(...path.split('/').map((part) => (part.startsWith('{') ? partOfPath(part.slice(1, -1)) : fc.constant(part))))
      .map((parts) => parts.join('/'))

  const queryOf = ({ parameters = [] }: DescribedOperation) => {
    const described = parameters.filter((one) => one.in === 'query')
    const pair = fc.oneof(
      ...described.map(({ name, schema }) => someOf(schema, name, 0).map((value) => `${name}=${encoded(value)}`)),
      fc.constantFrom('unknown=1', 'limit', 'q[]=1', '=', '&', '%zz=%zz', `since=${'x'.repeat(9_000)}`),
    )
    return fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      { weight: 3, arbitrary: requiredOf(described) },
      { weight: 3, arbitrary: fc.array(pair, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`) },
    )
  }
  const requiredOf = (described: NonNullable<DescribedOperation['parameters']>) =>
    fc
      .tuple(
        ...described
          .filter(({ required }) => required)
          .map(({ name, schema }) => someOf(schema, name, 0).map((value) => `${name}=${encoded(value)}`)),
      )
      .map((pairs) => (pairs.length > 0 ? `?${pairs.join('&')}` : ''))

  const bodyOf = ({ method, requestBody }: DescribedOperation): fc.Arbitrary<Pick<PlainRequest, 'body' | 'headers'>> => {
    if (method === 'get') return fc.constant({})
    const bad = fc.record({
      body: fc.constantFrom(
        '',
        '{',
        '[]',
        'null',
        '"text"',
        '0',
        'a=%zz',
        '\u0000',
        '{"__proto__":{"a":1}}',
        `[${'['.repeat(5_000)}`,
        'x'.repeat(100_000),
      ),
      headers: fc.constantFrom<Record<string, string>>(
        {},
        { 'content-type': 'application/json' },
        { 'content-type': 'nonsense' },
        { 'content-type': 'multipart/form-data' },
        { 'content-length': 'many' },
      ),
    })
    const [type = '', media] = Object.entries(requestBody?.content ?? {})[0] ?? []
    if (!media) return bad
    const good = someOf(media.schema, '', 0).map((value) => encodedBody(type, value))
    return fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: bad })
  }
  const headersOf = ({ parameters = [] }: DescribedOperation) => {
    const own = parameters
      .filter((one) => one.in === 'header')
      .map(({ name }) => [name.toLowerCase(), fc.constantFrom(...valuesOf(name.toLowerCase()).map(String), 'x'.repeat(200))])
    return fc.record(Object.fromEntries(own) as Record<string, fc.Arbitrary<string>>, { requiredKeys: [] })
  }

  const requestFor = (operation: DescribedOperation) =>
    fc
      .tuple(pathOf(operation), queryOf(operation), bodyOf(operation), headersOf(operation), fc.constantFrom(...authorizations))
      .map(([path, query, { body, headers }, more, authorization]): RandomRequest => {
        const all = { ...headers, ...more, ...(authorization !== undefined && { authorization }) }
        return { operation, method: operation.method.toUpperCase(), path: `${path}${query}`, headers: all, body }
      })
  return fc.sample(fc.oneof(...operations.map(requestFor)), { seed, numRuns: count })
}

function textOf({ format, default: usual }: Node): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid()
  if (format === 'date') return fc.constantFrom('2026-02-28', '9999-12-31', '0001-01-01', '2026-02-30')
  if (format === 'date-time') return fc.constantFrom('2026-02-28T12:00:00Z', '9999-12-31T23:59:59Z', 'yesterday')
  if (format === 'binary') return fc.constantFrom('%PDF-1.7', '', 'no PDF')
  return fc.oneof(fc.string({ maxLength: 20, unit: 'binary' }), fc.constantFrom(...strange, ...(typeof usual === 'string' ? [usual] : [])))
}

function encoded(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return encodeURIComponent(text.toWellFormed())
}

function encodedBody(type: string, value: unknown): Pick<PlainRequest, 'body' | 'headers'> {
  const fields =
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([name, of]) => [name, typeof of === 'string' ? of : JSON.stringify(of)] as const)
      : []
  switch (type) {
    case 'multipart/form-data': {
      const parts = fields.map(([name, text]) => {
        const file = name === 'file' ? '; filename="a.pdf"\r\ncontent-type: application/pdf' : ''
        return `--limit\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`
      })
      return { body: `${parts.join('')}--limit--\r\n`, headers: { 'content-type': 'multipart/form-data; boundary=limit' } }
    }
    case 'application/x-www-form-urlencoded':
      return { body: fields.map(([name, text]) => `${name}=${encoded(text)}`).join('&'), headers: { 'content-type': type } }
    case 'application/json':
      return { body: JSON.stringify(value), headers: { 'content-type': type } }
    default:
      return { body: String(value), headers: { 'content-type': type } }
  }
}
