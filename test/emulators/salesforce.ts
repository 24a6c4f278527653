import { randomUUID } from 'node:crypto'
import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

interface SalesforceTask extends StoredNote {
  readonly externalId: string
  readonly date: string
}

export interface SalesforceEmulator extends NotesEmulator {
  readonly notes: SalesforceTask[]
  /** Error of the next upsert; nothing is written then. */
  errors: { status: number; errorCode: string }[]
  /** Errors of records by their external ids, one for each time that a collection holds the record. */
  readonly recordErrors: Map<string, string[]>
  refusesWhole: (body: string) => boolean
}

interface SalesforceOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly accounts: readonly string[]
}

const TASKS = '/services/data/v61.0/sobjects/Task'
const EXTERNAL = `${TASKS}/Submission_Mirror_Id__c/`
const COLLECTION = '/services/data/v61.0/composite/sobjects/Task/Submission_Mirror_Id__c'
const MOST_RECORDS = 200
const KNOWN = ['Subject', 'Description', 'Status', 'ActivityDate', 'WhatId']

/** Salesforce's REST API by its documentation; written from that, never compared with the real system. */
export async function startSalesforce(options: SalesforceOptions): Promise<SalesforceEmulator> {
  const notes: SalesforceTask[] = []
  const errors: SalesforceEmulator['errors'] = []
  const recordErrors: SalesforceEmulator['recordErrors'] = new Map()
  const tokens = new Tokens()
  const store = { ...options, notes, errors, recordErrors }
  const hooks: Pick<SalesforceEmulator, 'refusesWhole'> = { refusesWhole: () => false }
  const answer = (request: Arrived): Reply => {
    const { method, path } = request
    if (path === '/services/oauth2/token') return token(request, options, tokens)
    if (!tokens.isIn(request)) return failure(401, 'INVALID_SESSION_ID', 'Session expired or invalid')
    if (method === 'GET' && path === TASKS) return { status: 200, body: { objectDescribe: { name: 'Task' } } }
    if (method === 'PATCH' && path === COLLECTION)
      return hooks.refusesWhole(request.body) ? failure(400, 'JSON_PARSER_ERROR', 'unexpected token') : upsertCollection(request, store)
    if (!path.startsWith(EXTERNAL)) return failure(404, 'NOT_FOUND', 'The requested resource does not exist')
    const externalId = path.slice(EXTERNAL.length)
    const found = notes.filter((task) => task.externalId === externalId)
    if (found.length > 1) return { status: 300, body: found.map(({ id }) => `${TASKS}/${id}`) }
    if (method === 'PATCH') return upsert(externalId, request, store)
    const [task] = found
    return task ? { status: 200, body: selected(request, task) } : failure(404, 'NOT_FOUND', 'The requested resource does not exist')
  }
  const busy = failure(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.')
  const server = await startServer(answer, ({ method }) => method === 'PATCH', busy)
  return Object.assign(hooks, {
    ...server,
    ...byHand(notes),
    notes,
    errors,
    recordErrors,
    revokeTokens: () => tokens.revoke(),
    withdraw: () => tokens.withdraw(),
  })
}

function token({ method, body }: Arrived, { clientId, clientSecret }: SalesforceOptions, tokens: Tokens): Reply {
  const form = new URLSearchParams(body)
  const isRight = form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  if (method !== 'POST' || form.get('grant_type') !== 'client_credentials')
    return { status: 400, body: { error: 'unsupported_grant_type' } }
  if (!isRight || !tokens.allowed) return { status: 400, body: { error: 'invalid_client' } }
  return { status: 200, body: { access_token: tokens.give(), token_type: 'Bearer', instance_url: 'https://acme.my.salesforce.com' } }
}

type Store = SalesforceOptions & Pick<SalesforceEmulator, 'notes' | 'errors' | 'recordErrors'>
type Record = Readonly<{ [name: string]: unknown }>
type Saved = { readonly id: string; readonly created: boolean } | { readonly errorCode: string; readonly message: string }

function upsert(externalId: string, request: Arrived, store: Store): Reply {
  const error = store.errors.shift()
  if (error !== undefined) return failure(error.status, error.errorCode, 'as the test wants it')
  const saved = save(externalId, jsonIn(request) ?? {}, store)
  if ('errorCode' in saved) return failure(400, saved.errorCode, saved.message)
  return { status: saved.created ? 201 : 200, body: { id: saved.id, success: true, errors: [], created: saved.created } }
}

function upsertCollection(request: Arrived, store: Store): Reply {
  const error = store.errors.shift()
  if (error !== undefined) return failure(error.status, error.errorCode, 'as the test wants it')
  const { allOrNone = false, records = [] } = (jsonIn(request) ?? {}) as { allOrNone?: boolean; records?: readonly Record[] }
  if (allOrNone) throw new Error('the emulator has no transactions')
  const ids = records.map((record) => record['Submission_Mirror_Id__c'])
  if (records.length === 0 || records.length > MOST_RECORDS || ids.some((id) => typeof id !== 'string'))
    return failure(400, 'INVALID_INPUT', 'records limit reached, or a record without an external id')
  if (records.some(({ attributes }) => (attributes as { type?: string } | undefined)?.type !== 'Task'))
    return failure(400, 'INVALID_INPUT', 'attributes.type of every record must be Task')
  const results = records.map(({ attributes: _, Submission_Mirror_Id__c: id, ...record }, position) => {
    const twice = ids.indexOf(id) !== position
    const errorCode = twice ? 'DUPLICATE_VALUE' : store.recordErrors.get(String(id))?.shift()
    const saved = errorCode === undefined ? save(String(id), record, store) : { errorCode, message: 'as the test wants it' }
    if (!('errorCode' in saved)) return { id: saved.id, success: true, errors: [], created: saved.created }
    return { success: false, errors: [{ statusCode: saved.errorCode, message: saved.message, fields: [] }] }
  })
  return { status: 200, body: results }
}

function save(externalId: string, body: Record, { accounts, notes }: Store): Saved {
  const strange = Object.keys(body).find((name) => !KNOWN.includes(name))
  if (strange !== undefined) return refusal('INVALID_FIELD', `No such column '${strange}' on sobject of type Task`)
  const { Subject: subject, Description: description, ActivityDate: date, WhatId: client } = body as { [name: string]: string }
  if ((subject ?? '').length > 255 || (description ?? '').length > 32_000) return refusal('STRING_TOO_LONG', 'data value too large')
  if (!/^\d{4}-\d\d-\d\d$/.test(date ?? '')) return refusal('JSON_PARSER_ERROR', 'ActivityDate is no date')
  if (client === undefined || !accounts.includes(client)) return refusal('MALFORMED_ID', 'Related To ID: id value of incorrect type')
  const found = notes.flatMap((task, position) => (task.externalId === externalId ? [position] : []))
  if (found.length > 1) return refusal('DUPLICATE_EXTERNAL_ID', 'more than one record found for external id field')
  const [known = -1] = found
  const id = notes[known]?.id ?? `00T${randomUUID().replaceAll('-', '').slice(0, 15)}`
  notes.splice(known >= 0 ? known : notes.length, known >= 0 ? 1 : 0, {
    id,
    client,
    externalId,
    date: date ?? '',
    text: `${subject}\n${description}`,
  })
  return { id, created: known < 0 }
}

function refusal(errorCode: string, message: string): Saved {
  return { errorCode, message }
}

function selected({ query }: Arrived, { id, text }: SalesforceTask): { readonly [name: string]: string | null } {
  const [subject = '', ...lines] = text.split('\n')
  const all: { readonly [name: string]: string | null } = { Id: id, Subject: subject, Description: lines.join('\n') || null }
  const names = (query.get('fields') ?? '').split(',')
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}

function failure(status: number, errorCode: string, message: string): Reply {
  return { status, body: [{ message, errorCode, fields: [] }] }
}
