import { randomUUID } from 'node:crypto'
import { parseUuid } from '../../src/model/uuid.ts'
import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

interface NowCertsNote extends StoredNote {
  readonly policy: string | null
  /** The note that it answers. */
  readonly parent: string | null
}

interface NowCertsEmulator extends NotesEmulator {
  readonly notes: readonly NowCertsNote[]
  readonly grants: { password: number; refresh: number }
}

interface NowCertsOptions {
  readonly username: string
  readonly password: string
  readonly insureds: readonly string[]
}

/** NowCerts by the vendor's documentation 2.1.5; written from a copy of it, never compared with the real system. */
export async function startNowCerts(options: NowCertsOptions): Promise<NowCertsEmulator> {
  const notes: NowCertsNote[] = []
  const tokens = new Tokens()
  const refreshes = new Set<string>()
  const grants = { password: 0, refresh: 0 }
  const answer = (request: Arrived): Reply => {
    const { method, path } = request
    if (method === 'POST' && path === '/api/token') return token(request, options, { tokens, refreshes, grants })
    if (!tokens.isIn(request)) return { status: 401, body: { message: 'Authorization has been denied for this request.' } }
    if (method !== 'POST') return { status: 405, body: { message: 'The requested resource does not support this method.' } }
    if (path === '/api/Zapier/InsertNote') return insert(request, options, notes)
    if (path === '/api/Insured/InsuredNotes') return list(request, notes)
    return { status: 404, body: { message: 'No HTTP resource was found' } }
  }
  const server = await startServer(answer, ({ path }) => path === '/api/Zapier/InsertNote')
  return { ...server, ...byHand(notes), notes, grants, revokeTokens: () => tokens.revoke(), withdraw: () => tokens.withdraw() }
}

interface Access {
  readonly tokens: Tokens
  readonly refreshes: Set<string>
  readonly grants: { password: number; refresh: number }
}

function token({ headers, body }: Arrived, { username, password }: NowCertsOptions, { tokens, refreshes, grants }: Access): Reply {
  const form = new URLSearchParams(body)
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  const grant = form.get('grant_type')
  if (!isForm || (grant !== 'password' && grant !== 'refresh_token')) return { status: 400, body: { error: 'unsupported_grant_type' } }
  if (form.get('client_id') !== 'ngAuthApp') return { status: 400, body: { error: 'invalid_client' } }
  const isUser = form.get('username') === username && form.get('password') === password
  const isRight = grant === 'password' ? isUser : refreshes.delete(form.get('refresh_token') ?? '')
  if (!isRight || !tokens.allowed) return { status: 400, body: { error: 'invalid_grant' } }
  grants[grant === 'password' ? 'password' : 'refresh'] += 1
  const refresh = randomUUID()
  refreshes.add(refresh)
  return { status: 200, body: { access_token: tokens.give(), token_type: 'bearer', expires_in: 86_399, refresh_token: refresh } }
}

/** Always a new record. A refusal is a 200 whose status is 0. */
function insert(request: Arrived, { insureds }: NowCertsOptions, notes: NowCertsNote[]): Reply {
  const refuse = (message: string): Reply => ({ status: 200, body: { status: 0, data: null, message } })
  const body = jsonIn(request)
  const { subject, insured_database_id: client, policy_database_id: policy = null, parent_note_id: parent = null } = body ?? {}
  if (typeof subject !== 'string' || subject === '') return refuse('subject is required')
  if (typeof client !== 'string' || !insureds.includes(client)) return refuse('The insured was not found')
  if (policy !== null && parseUuid(policy) === null) return refuse('policy_database_id is no id')
  if (parent !== null && !notes.some(({ id }) => id === parent)) return refuse('The parent note was not found')
  const id = randomUUID()
  notes.push({ id, client, text: subject, policy: policy as string | null, parent: parent as string | null })
  return { status: 200, body: { status: 1, data: { database_id: id }, message: 'Note was inserted successfully' } }
}

function list(request: Arrived, notes: readonly NowCertsNote[]): Reply {
  const ids = jsonIn(request)?.['InsuredDataBaseId']
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > 50) return { status: 400, body: { message: 'InsuredDataBaseId: 1 to 50' } }
  const found = notes.filter(({ client }) => ids.includes(client))
  return { status: 200, body: found.map(({ id, text }) => ({ databaseId: id, subject: text || null, createDate: '2026-03-04T05:06:07' })) }
}
