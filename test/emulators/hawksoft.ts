import { isObject } from '../../src/model/json.ts'
import { parseUuid } from '../../src/model/uuid.ts'
import { type Arrived, type EmulatorServer, type Reply, startServer } from './server.ts'

interface LogNote {
  readonly client: string
  readonly refId: string
  readonly ts: string
  readonly channel: number
  readonly text: string
  readonly policyId: string | null
}

interface HawkSoftFile {
  readonly client: string
  readonly refId: string
  readonly name: string
  readonly note: string
  readonly content: string
}

interface HawkSoftOptions {
  readonly user: string
  readonly password: string
  readonly agency: string
  readonly clients: readonly string[]
}

/** HawkSoft's partner API v3, as far as its documentation and its clients agree. A second note with the same refId is stored too. */
export interface HawkSoftEmulator extends EmulatorServer {
  readonly notes: readonly LogNote[]
  readonly files: readonly HawkSoftFile[]
  optOut(): void
  optIn(): void
  /** The agency's system is offline: notes are queued and answered with 202. */
  goOffline(): void
}

/** Channels are numbered from 1 to 56. */
const CHANNELS = 56

export async function startHawkSoft(options: HawkSoftOptions): Promise<HawkSoftEmulator> {
  const notes: LogNote[] = []
  const files: HawkSoftFile[] = []
  let subscribed = true
  let offline = false
  const right = `Basic ${Buffer.from(`${options.user}:${options.password}`).toString('base64')}`
  const answer = (request: Arrived): Reply => {
    const { method, path, query } = request
    if (request.headers.authorization !== right) return text(401, 'The provided credentials are invalid')
    if (query.get('version') !== '3.0') return text(400, 'version is missing')
    const [, vendor, agencies, agency, what, client, log] = path.split('/')
    if (vendor !== 'vendor') return text(404, 'Not found')
    if (method === 'GET' && path === '/vendor/agencies') return { status: 200, body: subscribed ? [Number(options.agency)] : [] }
    if (agencies !== 'agency') return text(404, 'Not found')
    if (!subscribed || agency !== options.agency) return text(403, 'The requested agency is not available to the vendor')
    if (method === 'GET' && what === 'offices') return { status: 200, body: [{ OfficeId: 1, PrimaryOffice: true }] }
    if (method !== 'POST' || what !== 'client' || (log !== 'log' && log !== 'attachment')) return text(404, 'Not found')
    if (!options.clients.includes(client ?? '')) return text(404, 'The client does not exist')
    if (log === 'attachment') {
      const file = fileOf(client ?? '', request)
      if (file === null) return text(400, 'The attachment is invalid')
      files.push(file)
      return text(200, '')
    }
    const note = noteOf(client ?? '', request)
    if (note === null) return text(400, 'The log note is invalid')
    notes.push(note)
    return offline ? text(202, '') : text(200, '')
  }
  const server = await startServer(answer, (request) => request.method === 'POST')
  return {
    ...server,
    notes,
    files,
    optOut: () => {
      subscribed = false
    },
    optIn: () => {
      subscribed = true
    },
    goOffline: () => {
      offline = true
    },
  }
}

function noteOf(client: string, { headers, body }: Arrived): LogNote | null {
  if (!headers['content-type']?.startsWith('application/json')) return null
  const parsed: unknown = JSON.parse(body)
  if (!isObject(parsed)) return null
  const { refId, ts, channel, note, description, body: long, policyId = null } = parsed
  const said =
    typeof note === 'string' ? note : typeof description === 'string' && typeof long === 'string' ? `${description}\n${long}` : ''
  if (parseUuid(refId) === null || typeof refId !== 'string') return null
  if (typeof ts !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(ts)) return null
  if (typeof channel !== 'number' || !Number.isInteger(channel) || channel < 1 || channel > CHANNELS) return null
  if (said === '' || (policyId !== null && typeof policyId !== 'string')) return null
  return { client, refId, ts, channel, text: said, policyId }
}

function fileOf(client: string, { body }: Arrived): HawkSoftFile | null {
  const { refId, ts, channel, desc, logNote, fileName, fileExt, data } = JSON.parse(body) as Record<string, unknown>
  if (parseUuid(refId) === null || typeof ts !== 'string' || typeof channel !== 'number') return null
  const texts = [refId, desc, logNote, fileName, fileExt, data]
  if (!texts.every((each) => typeof each === 'string' && each !== '')) return null
  const content = Buffer.from(String(data), 'base64').toString()
  return { client, refId: String(refId), name: `${fileName}.${fileExt}`, note: String(logNote), content }
}

function text(status: number, body: string): Reply {
  return { status, type: 'text/plain', body }
}
