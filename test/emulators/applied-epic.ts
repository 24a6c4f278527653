import { randomUUID } from 'node:crypto'
import { isObject } from '../../src/model/json.ts'
import { ATTACHMENTS, type Attachment, Attachments } from './applied-epic-attachments.ts'
import { type Arrived, type EmulatorServer, type Reply, startServer } from './server.ts'

interface Activity {
  readonly id: string
  readonly client: string
  readonly code: string
  readonly description: string
  readonly associationType: string
  readonly status: string
  readonly enteredOn: string
  readonly body: Readonly<Record<string, unknown>>
  readonly notes: { readonly id: string; readonly accessLevel: string; readonly content: string }[]
}

interface EpicOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly audience: string
  readonly clients: readonly string[]
  readonly policies: Readonly<Record<string, string>>
  readonly codes: readonly string[]
  readonly accessLevels: readonly string[]
  readonly agencies: readonly string[]
  readonly branches: readonly string[]
  readonly today: string
}

/** Applied Epic by its published workflow-management specification. */
export interface EpicEmulator extends EmulatorServer {
  readonly tokenUrl: string
  readonly activities: readonly Activity[]
  readonly attachments: readonly Attachment[]
  readonly uploads: EmulatorServer
  readonly tokens: number
  revokeTokens(): void
  withdraw(): void
  restore(): void
  remove(id: string): void
  describe(id: string, description: string): void
}

const SCOPES = ['activity', 'attachment'].flatMap((area) => ['read', 'write', 'all'].map((right) => `epic/${area}:${right}`))
const API = '/workflow-management/v1'
const PROBLEMS: Readonly<Record<number, string>> = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' }

class Problem extends Error {
  readonly status: number
  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

export async function startEpic(options: EpicOptions): Promise<EpicEmulator> {
  const epic = new Epic(options)
  const uploads = await startServer(
    (request) => epic.attachments.upload(request),
    () => true,
  )
  epic.attachments.uploadUrl = uploads.url
  const server = await startServer(
    (request) => epic.answer(request),
    (request) => request.method === 'POST' && [API, ATTACHMENTS].some((path) => request.path.startsWith(path)),
  )
  return {
    ...server,
    tokenUrl: `${server.url}/v1/auth/connect/token`,
    activities: epic.activities,
    attachments: epic.attachments.all,
    uploads,
    close: async () => void (await Promise.all([server.close(), uploads.close()])),
    get tokens() {
      return epic.given
    },
    revokeTokens: () => epic.tokens.clear(),
    withdraw: () => {
      epic.allowed = false
    },
    restore: () => {
      epic.allowed = true
    },
    remove: (id) =>
      void epic.activities.splice(
        epic.activities.findIndex((activity) => activity.id === id),
        1,
      ),
    describe: (id, description) => {
      const place = epic.activities.findIndex((activity) => activity.id === id)
      epic.activities[place] = { ...(epic.activities[place] as Activity), description }
    },
  }
}

class Epic {
  readonly activities: Activity[] = []
  readonly attachments: Attachments
  readonly tokens = new Map<string, readonly string[]>()
  given = 0
  allowed = true
  readonly #options: EpicOptions

  constructor(options: EpicOptions) {
    this.#options = options
    this.attachments = new Attachments(options)
  }

  answer(request: Arrived): Reply {
    try {
      return request.path === '/v1/auth/connect/token' ? this.#token(request) : this.#api(request)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { status, message: detail } = error
      const body = { type: 'https://api.appliedsystems.com/doc/problem', title: PROBLEMS[status], status, detail, traceId: '1' }
      return { status, type: status === 400 ? 'application/json' : 'application/problem+json', body }
    }
  }

  #token({ method, headers, body }: Arrived): Reply {
    const { clientId, clientSecret, audience } = this.#options
    const form = new URLSearchParams(body)
    const right = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
    if (method !== 'POST' || !headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
      return { status: 400, body: { error: 'invalid_request' } }
    }
    if (headers.authorization !== right) return { status: 401, body: { error: 'invalid_client' } }
    if (form.get('grant_type') !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } }
    if (form.get('audience') !== audience) return { status: 400, body: { error: 'invalid_target' } }
    const scopes = (form.get('scope') ?? '').split(' ')
    if (!scopes.every((scope) => SCOPES.includes(scope))) return { status: 400, body: { error: 'invalid_scope' } }
    this.given += 1
    const token = randomUUID()
    this.tokens.set(token, scopes)
    return { status: 200, body: { access_token: token, token_type: 'Bearer', expires_in: 7200 } }
  }

  #api(request: Arrived): Reply {
    const { method, path } = request
    const scopes = this.tokens.get(request.headers.authorization?.replace(/^Bearer /, '') ?? '')
    if (scopes === undefined) throw new Problem(401, 'You are not authorized to access this resource')
    const area = path === ATTACHMENTS ? 'attachment' : 'activity'
    const need = `epic/${area}:${method === 'GET' ? 'read' : 'write'}`
    if (!this.allowed || !(scopes.includes(need) || scopes.includes(`epic/${area}:all`))) {
      throw new Problem(403, 'You are forbidden to access this resource')
    }
    if (method === 'GET' && path === ATTACHMENTS) return this.attachments.list(request)
    if (method === 'POST' && path === ATTACHMENTS) {
      const made = this.attachments.create(bodyOf(request))
      if (made === null) throw new Problem(400, 'the attachment is invalid')
      return made
    }
    const steps = path.slice(API.length + 1).split('/')
    if (method === 'POST' && path === `${API}/activities`) return this.#create(bodyOf(request))
    if (method === 'POST' && steps[0] === 'activities' && steps[2] === 'notes') return this.#addNote(steps[1] ?? '', bodyOf(request))
    if (method === 'GET' && path === `${API}/activities/codes`) {
      return page(
        request,
        'activityCodes',
        this.#options.codes.map((id) => ({ id, code: 'NOTE' })),
      )
    }
    if (method === 'GET' && steps[0] === 'activities' && steps.length === 2) {
      const { id, description, status } = this.#activity(steps[1] ?? '')
      return { status: 200, type: 'application/hal+json', body: { id, description, status, _links: {} } }
    }
    if (method === 'GET' && steps[0] === 'activities' && steps[2] === 'notes') {
      const { notes } = this.#activity(steps[1] ?? '')
      return page(
        request,
        'notes',
        notes.map(({ id, accessLevel, content }) => ({ id, accessLevel: { id: accessLevel }, content })),
      )
    }
    if (method === 'GET' && steps[0] === 'clients' && steps[2] === 'activities') return this.#list(request, steps[1] ?? '')
    throw new Problem(404, 'The specified resource was not found')
  }

  #create(body: Readonly<Record<string, unknown>>): Reply {
    const { codes, today } = this.#options
    const code = textAt(body, 'code', 'id')
    check(codes.includes(code), 'code.id is not a valid activity code')
    const { client, type } = this.#associated(body)
    const status = textAt(body, 'status') || 'OPEN'
    check(['OPEN', 'CLOSED'].includes(status), 'status is invalid')
    check(status === 'OPEN' || typeof valueAt(body, 'closed', 'successful') === 'boolean', 'closed.successful is required')
    check(
      valueAt(body, 'closed', 'successful') !== false || textAt(body, 'closed', 'unsuccessfulReason') !== '',
      'unsuccessfulReason is required',
    )
    const ownerType = valueAt(body, 'owner', 'type')
    check(ownerType === undefined || ownerType === 'EMPLOYEE' || ownerType === 'WORK_GROUP', 'owner.type is invalid')
    const start = valueAt(body, 'startFollowUpOn')
    check(start === undefined || !Number.isNaN(Date.parse(String(start))), 'startFollowUpOn is no date')
    const id = randomUUID()
    const notes = isObject(body['note']) ? [this.#noteOf(body['note'])] : []
    const description = textAt(body, 'description')
    this.activities.push({ id, client, code, description, associationType: type, status, enteredOn: today, body, notes })
    return { status: 201, type: 'application/hal+json', body: { id, description, status, association: body['association'], _links: {} } }
  }

  #associated(body: Readonly<Record<string, unknown>>): { readonly client: string; readonly type: string } {
    const { clients, policies, agencies, branches } = this.#options
    const type = textAt(body, 'association', 'type')
    const id = textAt(body, 'association', 'id')
    if (type === 'POLICY') {
      const client = policies[id]
      check(client !== undefined, 'association.id is not a policy')
      return { client: client ?? '', type }
    }
    check(type === 'CLIENT' && clients.includes(id), 'association is invalid')
    check(agencies.includes(textAt(body, 'association', 'organization', 'agency', 'id')), 'association.organization.agency is required')
    check(branches.includes(textAt(body, 'association', 'organization', 'branch', 'id')), 'association.organization.branch is required')
    return { client: id, type }
  }

  #noteOf(note: Readonly<Record<string, unknown>>): Activity['notes'][number] {
    const accessLevel = textAt(note, 'accessLevel', 'id')
    check(this.#options.accessLevels.includes(accessLevel), 'accessLevel.id is invalid')
    check(textAt(note, 'content') !== '', 'content is required')
    return { id: randomUUID(), accessLevel, content: textAt(note, 'content') }
  }

  #addNote(id: string, body: Readonly<Record<string, unknown>>): Reply {
    const note = this.#noteOf(body)
    this.#activity(id).notes.push(note)
    return { status: 200, body: { id: note.id, accessLevel: { id: note.accessLevel }, content: note.content } }
  }

  #list(request: Arrived, client: string): Reply {
    if (!this.#options.clients.includes(client)) throw new Problem(404, 'The specified resource was not found')
    const after = request.query.get('enteredByDate_after')
    check(after === null || /^\d{4}-\d\d-\d\d$/.test(after), 'enteredByDate_after is no date')
    const activities = this.activities
      .filter((activity) => activity.client === client && (after === null || activity.enteredOn > after))
      // As published, a list contains no notes.
      .map(({ id, code, description, associationType, status }) => ({ id, code, description, associationType, status }))
    return page(request, 'activities', activities)
  }

  #activity(id: string): Activity {
    const found = this.activities.find((activity) => activity.id === id)
    if (found === undefined) throw new Problem(404, 'The specified resource was not found')
    return found
  }
}

function page(request: Arrived, name: string, all: readonly unknown[]): Reply {
  const limit = Number(request.query.get('limit') ?? 100)
  const offset = Number(request.query.get('offset') ?? 0)
  check(Number.isInteger(limit) && limit >= 1 && limit <= 500, 'limit must be 1 to 500')
  check(Number.isInteger(offset) && offset >= 0, 'offset is invalid')
  const items = all.slice(offset, offset + limit)
  return { status: 200, type: 'application/hal+json', body: { total: all.length, _links: {}, _embedded: { [name]: items } } }
}

function bodyOf({ headers, body }: Arrived): Readonly<Record<string, unknown>> {
  check(headers['content-type']?.startsWith('application/json') ?? false, 'the body is no JSON')
  const parsed: unknown = JSON.parse(body)
  check(isObject(parsed), 'the body is no object')
  return parsed as Record<string, unknown>
}

function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value)
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path)
  return typeof found === 'string' ? found : ''
}

function check(good: boolean, detail: string): void {
  if (!good) throw new Problem(400, detail)
}
