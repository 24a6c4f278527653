import { parseUuid } from '../../src/model/uuid.ts'
import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

interface Annotation extends StoredNote {
  readonly file: { readonly name: string; readonly type: string; readonly content: string } | null
}

interface DataverseEmulator extends NotesEmulator {
  readonly notes: readonly Annotation[]
}

interface DataverseOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly scope: string
  readonly accounts: readonly string[]
}

const BUSY: Reply = {
  status: 429,
  headers: { 'retry-after': '1' },
  body: { error: { code: '0x80072322', message: 'Number of requests exceeded' } },
}
const BIND = 'objectid_account@odata.bind'

/** Dataverse's Web API by Microsoft's documentation; written from that, never compared with the real system. */
export async function startDataverse(options: DataverseOptions): Promise<DataverseEmulator> {
  const notes: Annotation[] = []
  const tokens = new Tokens()
  const answer = (request: Arrived): Reply => {
    const { method, path } = request
    if (path === '/the-tenant/oauth2/v2.0/token') return token(request, options, tokens)
    if (!tokens.isIn(request)) return failure(401, '0x80072560', 'The user is not a member of the organization.')
    if (method === 'GET' && path === '/api/data/v9.2/WhoAmI') return { status: 200, body: { UserId: '1' } }
    const key = /^\/api\/data\/v9\.2\/annotations\((.+)\)$/.exec(path)?.[1]
    if (key === undefined || parseUuid(key) === null) return failure(404, '0x8006088a', 'Resource not found for the segment')
    if (method === 'PATCH') return upsert(key, request, options, notes)
    const note = notes.find(({ id }) => id === key)
    return note ? { status: 200, body: selected(request, note) } : failure(404, '0x80040217', `annotation With Id = ${key} Does Not Exist`)
  }
  const server = await startServer(answer, ({ method }) => method === 'PATCH', BUSY)
  return { ...server, ...byHand(notes), notes, revokeTokens: () => tokens.revoke(), withdraw: () => tokens.withdraw() }
}

function token({ body }: Arrived, { clientId, clientSecret, scope }: DataverseOptions, tokens: Tokens): Reply {
  const form = new URLSearchParams(body)
  if (form.get('grant_type') !== 'client_credentials' || form.get('scope') !== scope)
    return { status: 400, body: { error: 'invalid_scope' } }
  const isRight = form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  if (!isRight || !tokens.allowed) return { status: 401, body: { error: 'invalid_client' } }
  return { status: 200, body: { access_token: tokens.give(), token_type: 'Bearer', expires_in: 3599 } }
}

function upsert(id: string, request: Arrived, { accounts }: DataverseOptions, notes: Annotation[]): Reply {
  const known = notes.findIndex((note) => note.id === id)
  if (known >= 0 && request.headers['if-none-match'] === '*')
    return failure(412, '0x80060892', 'A record with matching key values already exists.')
  const { subject, notetext, filename, mimetype, documentbody, [BIND]: bind, ...others } = jsonIn(request) ?? {}
  const [strange] = Object.keys(others)
  if (strange !== undefined) return failure(400, '0x80048d19', `The property '${strange}' does not exist on type 'annotation'.`)
  if (typeof subject !== 'string' || typeof notetext !== 'string' || subject.length > 500 || notetext.length > 100_000)
    return failure(400, '0x80044331', 'The length of an attribute exceeded the maximum allowed length')
  const client = typeof bind === 'string' ? (/^\/accounts\((.+)\)$/.exec(bind)?.[1] ?? '') : ''
  if (!accounts.includes(client)) return failure(404, '0x80040217', `Account With Id = ${client} Does Not Exist`)
  if (typeof documentbody === 'string' && documentbody.length > 5_242_880)
    return failure(413, '0x80044a02', 'Attachment file size is too big.')
  const content = Buffer.from(String(documentbody), 'base64').toString()
  const file = documentbody === undefined ? null : { name: String(filename), type: String(mimetype), content }
  notes.splice(known >= 0 ? known : notes.length, known >= 0 ? 1 : 0, { id, client, text: `${subject}\n${notetext}`, file })
  return { status: 204, headers: { 'odata-entityid': request.path }, body: '' }
}

function selected({ query }: Arrived, { id, text }: Annotation): Readonly<Record<string, string | null>> {
  const [subject = '', ...lines] = text.split('\n')
  const all: Readonly<Record<string, string | null>> = { annotationid: id, subject, notetext: lines.join('\n') || null }
  const names = (query.get('$select') ?? '').split(',')
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}

function failure(status: number, code: string, message: string): Reply {
  return { status, body: { error: { code, message } } }
}
