import { Ajv2020 } from 'ajv/dist/2020.js'
import { openApiDocument } from '../../src/client/openapi/document.ts'
import type { SentAnswer } from '../../src/sandbox/service/options.ts'

interface Response {
  readonly content?: Readonly<Record<string, unknown>>
}
type Paths = Readonly<
  Record<string, Readonly<Record<string, { readonly operationId: string; readonly responses: Readonly<Record<string, Response>> }>>>
>

const document = openApiDocument()
const routes = Object.entries(document['paths'] as Paths).map(([path, methods]) => ({
  path,
  matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  methods,
}))

/** Formats of the values that the emulator makes up. The service's own may be others. */
const formats = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
  binary: true,
} as const

/** Checks answers against the OpenAPI document of the service. */
export class Contract {
  readonly problems: string[] = []
  /** `operationId status` of each answer that was checked. */
  readonly seen = new Set<string>()
  readonly #areStatusesFixed: boolean
  #ajv: Ajv2020 | undefined

  /** @param areStatusesFixed whether a status that the document does not have is a problem. Faults and varied choices answer with others. */
  constructor({ areStatusesFixed = false } = {}) {
    this.#areStatusesFixed = areStatusesFixed
  }

  /** Notes what is wrong with an answer. Routes that the specification does not have, and maintenance pages, are no part of it. */
  readonly observe = (answer: SentAnswer): void => {
    for (const problem of this.check(answer)) this.problems.push(`${answer.method} ${answer.path} ${answer.status}: ${problem}`)
  }

  /** @returns what is wrong with an answer, in sentences. */
  check({ method, path, status, contentType, body }: SentAnswer): string[] {
    const route = routes.find(({ matches }) => matches.test(path))
    const operation = route?.methods[method.toLowerCase()]
    if (!route || !operation) return []
    if (status >= 500 || (status < 300 && contentType.startsWith('text/html'))) return []
    const key = [String(status), `${String(status)[0]}XX`].find((each) => operation.responses[each])
    if (key === undefined) return this.#areStatusesFixed ? ['the document has no such status'] : []
    this.seen.add(`${operation.operationId} ${status}`)
    const content = operation.responses[key]?.content
    if (!content) return []
    const type = contentType.split(';')[0] ?? ''
    if (!content[type]) return body.length === 0 ? [] : [`the document has no ${type} there`]
    if (type !== 'application/json') return []
    const pointer = ['paths', route.path, method.toLowerCase(), 'responses', key, 'content', type, 'schema'].map(escaped).join('/')
    return this.#invalid(pointer, JSON.parse(body.toString()))
  }

  #invalid(pointer: string, value: unknown): string[] {
    this.#ajv ??= openAjv()
    const validate = this.#ajv.getSchema(`service#/${pointer}`)
    if (!validate) throw new Error(`there is no schema at ${pointer}`)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message, keyword, params }) =>
      [instancePath || '/', message ?? keyword, JSON.stringify(params)].join(' '),
    )
  }
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function openAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, formats })
  ajv.addSchema(document, 'service')
  return ajv
}
