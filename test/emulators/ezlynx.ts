import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

interface EzLynxEmulator extends NotesEmulator {
  giveNoIds(): void
  hideText(): void
  logins(): number
}

interface EzLynxOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly username: string
  readonly integrationGroupId: string
  readonly discussions: Readonly<Record<string, string>>
}

const API = '/DiscussionApi/v8/discussions'

/** EZLynx's discussion API as third-party code calls it; never compared with the real system. */
export async function startEzLynx(options: EzLynxOptions): Promise<EzLynxEmulator> {
  const notes: StoredNote[] = []
  const tokens = new Tokens()
  const shown = { ids: true, text: true }
  const answer = (request: Arrived): Reply => {
    const { method, path, query } = request
    if (path === '/auth/connect/token') return token(request, options, tokens)
    if (!tokens.isIn(request)) return { status: 401, body: '' }
    if (!path.startsWith(`${API}/`)) return { status: 404, body: '' }
    const [id = '', last] = path.slice(API.length + 1).split('/')
    if (method === 'GET' && id === 'by-applicant')
      return { status: 200, body: discussionsOf(query.get('applicantId') ?? '', options.discussions, notes) }
    const applicant = options.discussions[id]
    if (applicant === undefined) return { status: 404, body: { message: `Discussion ${id} was not found` } }
    if (method === 'GET' && last === 'with-notes') return { status: 200, body: withNotes(id, applicant, notes, shown.text) }
    if (method === 'POST' && last === 'notes') return add(request, applicant, notes, shown.ids)
    return { status: 405, body: '' }
  }
  const server = await startServer(answer, ({ method, path }) => method === 'POST' && path.endsWith('/notes'))
  return {
    ...server,
    ...byHand(notes),
    notes,
    logins: () => tokens.count,
    giveNoIds: () => {
      shown.ids = false
    },
    hideText: () => {
      shown.text = false
    },
    revokeTokens: () => tokens.revoke(),
    withdraw: () => tokens.withdraw(),
  }
}

function token({ method, headers, body }: Arrived, options: EzLynxOptions, tokens: Tokens): Reply {
  const form = new URLSearchParams(body)
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false
  const refuse = (error: string, status = 400): Reply => ({ status, body: { error } })
  if (method !== 'POST' || !isForm || form.get('grant_type') !== 'vendor_data_access') return refuse('unsupported_grant_type')
  const isClient = form.get('client_id') === options.clientId && form.get('client_secret') === options.clientSecret
  if (!isClient || !tokens.allowed) return refuse('invalid_client')
  if (!form.get('scope') || form.get('integration_group_id') !== options.integrationGroupId) return refuse('invalid_scope')
  if (form.get('username') !== options.username) return refuse('invalid_grant', 403)
  return { status: 200, body: { access_token: tokens.give(), token_type: 'Bearer', expires_in: 3_600 } }
}

/** Each POST makes a new note. */
function add(request: Arrived, applicant: string, notes: StoredNote[], hasIds: boolean): Reply {
  const { type, body: text } = jsonIn(request) ?? {}
  if (type !== 'Note' || typeof text !== 'string' || text === '') return { status: 400, body: { message: 'body is required' } }
  const id = String(1 + notes.reduce((last, note) => Math.max(last, Number(note.id)), 9_000))
  notes.push({ id, client: applicant, text })
  return { status: 201, body: hasIds ? { noteId: id } : { created: true } }
}

/** Without the text of notes. */
function discussionsOf(applicant: string, discussions: EzLynxOptions['discussions'], notes: readonly StoredNote[]): unknown[] {
  const own = Object.entries(discussions).filter(([, owner]) => owner === applicant)
  return own.map(([id]) => ({ id, applicantId: applicant, noteCount: notes.filter(({ client }) => client === applicant).length }))
}

function withNotes(id: string, applicant: string, notes: readonly StoredNote[], hasText: boolean): unknown {
  const own = notes.filter(({ client }) => client === applicant)
  return {
    id,
    applicantId: applicant,
    notes: own.map(({ id: noteId, text }) => ({ noteId, type: 'Note', ...(hasText && { body: text || null }) })),
  }
}
