import { randomUUID } from 'node:crypto'
import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer, Tokens } from './server.ts'

export interface SalesforceTask extends StoredNote {
  readonly externalId: string
  readonly date: string
}

export interface SalesforceEmulator extends NotesEmulator {
  readonly notes: SalesforceTask[]
  /** Error of the next upsert; nothing is written then. */
  errors: { status: number; errorCode: string }[]
}

export interface SalesforceOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly accounts: readonly string[]
}

const TASKS = '/services/data/v61.0/sobjects/Task'
const EXTERNAL = `${TASKS}/Submission_Mirror_Id__c/`
const KNOWN = ['Subject', 'Description', 'Status', 'ActivityDate', 'WhatId']

/** Salesforce's REST API by its documentation; written from that, never compared with the real system. */
export async function startSalesforce(options: SalesforceOptions): Promise<SalesforceEmulator> {
  const notes: SalesforceTask[] = []
  const errors: SalesforceEmulator['errors'] = []
  const tokens = new Tokens()
  const answer = (request: Arrived): Reply => {
    const { method, path } = request
    if (path === '/services/oauth2/token') return token(request, options, tokens)
    if (!tokens.isIn(request)) return failure(401, 'INVALID_SESSION_ID', 'Session expired or invalid')
    if (method === 'GET' && path === TASKS) return { status: 200, body: { objectDescribe: { name: 'Task' } } }
    if (!path.startsWith(EXTERNAL)) return failure(404, 'NOT_FOUND', 'The requested resource does not exist')
    const externalId = path.slice(EXTERNAL.length)
    const found = notes.filter((task) => task.externalId === externalId)
    if (found.length > 1) return { status: 300, body: found.map(({ id }) => `${TASKS}/${id}`) }
    if (method === 'PATCH') return upsert(externalId, request, { ...options, notes, errors })
    const [task] = found
    return task ? { status: 200, body: selected(request, task) } : failure(404, 'NOT_FOUND', 'The requested resource does not exist')
  }
  const busy = failure(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.')
  const server = await startServer(answer, ({ method }) => method === 'PATCH', busy)
  return { ...server, ...byHand(notes), notes, errors, revokeTokens: () => tokens.revoke(), withdraw: () => tokens.withdraw() }
}

function token({ method, body }: Arrived, { clientId, clientSecret }: SalesforceOptions, tokens: Tokens): Reply {
  const form = new URLSearchParams(body)
  const isRight = form.get('client_id') === clientId && form.get('client_secret') === clientSecret
  if (method !== 'POST' || form.get('grant_type') !== 'client_credentials')
    return { status: 400, body: { error: 'unsupported_grant_type' } }
  if (!isRight || !tokens.allowed) return { status: 400, body: { error: 'invalid_client' } }
  return { status: 200, body: { access_token: tokens.give(), token_type: 'Bearer', instance_url: 'https://acme.my.salesforce.com' } }
}

type Store = SalesforceOptions & Pick<SalesforceEmulator, 'notes' | 'errors'>

function upsert(externalId: string, request: Arrived, { accounts, notes, errors }: Store): Reply {
  const error = errors.shift()
  if (error !== undefined) return failure(error.status, error.errorCode, 'as the test wants it')
  const body = jsonIn(request) ?? {}
  const strange = Object.keys(body).find((name) => !KNOWN.includes(name))
  if (strange !== undefined) return failure(400, 'INVALID_FIELD', `No such column '${strange}' on sobject of type Task`)
  const { Subject: subject, Description: description, ActivityDate: date, WhatId: client } = body as Record<string, string>
  if ((subject ?? '').length > 255 || (description ?? '').length > 32_000) return failure(400, 'STRING_TOO_LONG', 'data value too large')
  if (!/^\d{4}-\d\d-\d\d$/.test(date ?? '')) return failure(400, 'JSON_PARSER_ERROR', 'ActivityDate is no date')
  if (client === undefined || !accounts.includes(client)) return failure(400, 'MALFORMED_ID', 'Related To ID: id value of incorrect type')
  const known = notes.findIndex((task) => task.externalId === externalId)
  const id = notes[known]?.id ?? `00T${randomUUID().replaceAll('-', '').slice(0, 15)}`
  notes.splice(known >= 0 ? known : notes.length, known >= 0 ? 1 : 0, {
    id,
    client,
    externalId,
    date: date ?? '',
    text: `${subject}\n${description}`,
  })
  return { status: known >= 0 ? 200 : 201, body: { id, success: true, errors: [], created: known < 0 } }
}

/** The fields of a task that a request names. */
function selected({ query }: Arrived, { id, text }: SalesforceTask): Readonly<Record<string, string>> {
  const [subject = '', ...lines] = text.split('\n')
  const all: Readonly<Record<string, string>> = { Id: id, Subject: subject, Description: lines.join('\n') }
  const names = (query.get('fields') ?? '').split(',')
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}

function failure(status: number, errorCode: string, message: string): Reply {
  return { status, body: [{ message, errorCode, fields: [] }] }
}
