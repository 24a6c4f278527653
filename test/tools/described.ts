import { Ajv2020 } from 'ajv/dist/2020.js'

type Node = Readonly<Record<string, unknown>>

export interface DescribedOperation {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Node }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Node }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

export interface GivenAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
}

const formats = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
  binary: true,
  uri: true,
  email: true,
} as const

/** An OpenAPI document for checking answers. */
export class Described {
  readonly document: Node
  readonly operations: readonly DescribedOperation[]
  #ajv: Ajv2020 | undefined

  constructor(document: object) {
    this.document = document as Node
    const paths = Object.entries(this.document['paths'] as Readonly<Record<string, Readonly<Record<string, object>>>>)
    this.operations = paths.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...(operation as DescribedOperation), method, path })),
    )
  }

  find(method: string, path: string): DescribedOperation | undefined {
    return this.operations.find((one) => one.method === method.toLowerCase() && patternOf(one.path).test(path))
  }

  problems(operation: DescribedOperation, { status: given, contentType, body }: GivenAnswer, status = given): string[] {
    const { method, path, responses } = operation
    // Errors must be listed with their own status.
    const key = [String(status), ...(status < 400 ? [`${String(status)[0]}XX`] : [])].find((each) => responses[each])
    if (key === undefined) return ['the document has no such status']
    const content = responses[key]?.content ?? {}
    const type = contentType.split(';')[0] ?? ''
    if (!content[type]) return body.length === 0 || !responses[key]?.content ? [] : [`the document has no ${type} there`]
    if (!type.endsWith('json')) return []
    const pointer = ['paths', path, method, 'responses', key, 'content', type, 'schema'].map(escaped).join('/')
    this.#ajv ??= new Ajv2020({ strict: false, validateSchema: false, formats }).addSchema(this.document, 'document')
    const validate = this.#ajv.getSchema(`document#/${pointer}`)
    if (!validate) throw new Error(`there is no schema at ${pointer}`)
    if (validate(JSON.parse(body.toString()))) return []
    return (validate.errors ?? []).map(({ instancePath, message, keyword, params }) =>
      [instancePath || '/', message ?? keyword, JSON.stringify(params)].join(' '),
    )
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}
