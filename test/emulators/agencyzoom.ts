import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

interface AgencyZoomEmulator extends NotesEmulator {
  readonly logins: () => number
  hideNotes(): void
}

interface AgencyZoomOptions {
  readonly username: string
  readonly password: string
  readonly customers: readonly string[]
}

/** Without Retry-After. */
const BUSY: Reply = { status: 429, body: { name: 'Too Many Requests', message: 'Rate limit exceeded.', code: 0, status: 429 } }
const API = '/v1/api'

/** AgencyZoom's OpenAPI as clients of it describe it; written from that, never compared with the real system. */
export async function startAgencyZoom(options: AgencyZoomOptions): Promise<AgencyZoomEmulator> {
  const notes: StoredNote[] = []
  const tokens = new Tokens()
  let shown = true
  let made = 0
  const answer = (request: Arrived): Reply => {
    const { method, path } = request
    if (path === `${API}/auth/login`) return logIn(request, options, tokens)
    if (!tokens.isIn(request)) return failure(401, 'Unauthorized', 'Your request was made with invalid credentials.')
    if (method === 'POST' && path === `${API}/tasks/list`) return { status: 200, body: { totalCount: 0, tasks: [] } }
    const [what, customer = '', last] = path.slice(API.length + 1).split('/')
    if (what !== 'customers' || !options.customers.includes(customer)) return failure(404, 'Not Found', 'Customer not found')
    if (method === 'GET' && last === undefined)
      return { status: 200, body: { id: Number(customer), ...(shown && { notes: of(customer, notes) }) } }
    if (method !== 'POST' || last !== 'notes') return failure(404, 'Not Found', 'Page not found.')
    const text = jsonIn(request)?.['note']
    if (typeof text !== 'string' || text === '')
      return { status: 400, body: { error: 'Validation failed', fieldErrors: [{ field: 'note', message: 'is required' }] } }
    made += 1
    const id = String(made + 500)
    notes.push({ id, client: customer, text })
    return { status: 200, body: { message: 'Note added', id: Number(id), result: true } }
  }
  const server = await startServer(answer, ({ method, path }) => method === 'POST' && path.endsWith('/notes'), BUSY)
  return {
    ...server,
    ...byHand(notes),
    notes,
    logins: () => tokens.count,
    revokeTokens: () => tokens.revoke(),
    withdraw: () => tokens.withdraw(),
    hideNotes: () => {
      shown = false
    },
  }
}

function of(customer: string, notes: readonly StoredNote[]): unknown[] {
  return notes.filter(({ client }) => client === customer).map(({ id, text }) => ({ id: Number(id), note: text || null }))
}

function logIn(request: Arrived, { username, password }: AgencyZoomOptions, tokens: Tokens): Reply {
  const body = jsonIn(request)
  if (request.method !== 'POST' || body === null) return failure(400, 'Bad Request', 'Invalid JSON')
  if (!tokens.allowed || body['username'] !== username || body['password'] !== password)
    return failure(401, 'Unauthorized', 'Incorrect username or password.')
  return { status: 200, body: { jwt: tokens.give() } }
}

function failure(status: number, name: string, message: string): Reply {
  return { status, body: { name, message, code: 0, status } }
}
