import { randomUUID } from 'node:crypto'
import type { Arrived, Reply } from './server.ts'

export interface Attachment {
  readonly id: string
  readonly description: string
  readonly attachTo: { readonly id: string; readonly type: string }
  readonly fileName: string
  readonly folder: string | null
  /** null: only its record exists. */
  file: string | null
}

export const ATTACHMENTS = '/epic/attachment/v2/attachments'
const SIGNED = '/signed/'

/** Attachments by the published specification of attachment v2: a record first, then its bytes to the URL that the answer names. */
export class Attachments {
  readonly all: Attachment[] = []
  /** The other host, which takes no tokens. */
  uploadUrl = ''
  readonly #clients: readonly string[]
  readonly #policies: Readonly<Record<string, string>>

  constructor({ clients, policies }: { readonly clients: readonly string[]; readonly policies: Readonly<Record<string, string>> }) {
    this.#clients = clients
    this.#policies = policies
  }

  upload({ method, path, headers, body }: Arrived): Reply {
    const found = this.all.find(({ id }) => path === `${SIGNED}${id}`)
    if (method !== 'PUT' || found === undefined || headers.authorization !== undefined)
      return { status: 403, type: 'application/xml', body: '<Error/>' }
    if (headers['content-length'] !== String(Buffer.byteLength(body))) return { status: 411, type: 'application/xml', body: '<Error/>' }
    found.file = body
    return { status: 200, body: '' }
  }

  /** @returns null when the body is refused. */
  create(body: Readonly<Record<string, unknown>>): Reply | null {
    const { description, attachTo, uploadFileName, active, clientAccessible, folder = null } = body
    const { id, type } = (attachTo ?? {}) as { id?: string; type?: string }
    const isThere = type === 'ACCOUNT' ? this.#clients.includes(id ?? '') : type === 'POLICY' && (id ?? '') in this.#policies
    const isAlerted = typeof description === 'string' && typeof uploadFileName === 'string' && /\.[a-z]+$/.test(uploadFileName)
    if (!isThere || !isAlerted || typeof active !== 'boolean' || typeof clientAccessible !== 'boolean') return null
    const made = randomUUID()
    const own = { id: id ?? '', type: type ?? '' }
    this.all.push({ id: made, description, attachTo: own, fileName: uploadFileName, folder: folder as string | null, file: null })
    return { status: 201, type: 'application/hal+json', body: { id: made, uploadUrl: `${this.uploadUrl}${SIGNED}${made}`, _links: {} } }
  }

  list({ query }: Arrived): Reply {
    const owner = query.get('policy') ?? query.get('account')
    const attachments = this.all
      .filter(({ attachTo, description }) => attachTo.id === owner && description.includes(query.get('description_contains') ?? ''))
      .map(({ id, description, attachTo, file }) => ({
        id,
        description,
        attachedTos: [attachTo],
        file: { id, status: file === null ? 'PENDING' : 'OK' },
      }))
    return { status: 200, type: 'application/hal+json', body: { total: attachments.length, _links: {}, _embedded: { attachments } } }
  }
}
