import { isObject } from '../../src/model/json.ts'
import { type Arrived, type EmulatorServer, type Fault, type Reply, startServer } from '../emulators/server.ts'
import { readXml, within } from '../emulators/xml-tree.ts'
import { mixed } from './faults.ts'
import { COMMON, isRecord, type Target } from './target.ts'

const TOKEN = 'the-token-of-the-rest-system'
const FAULTS = { refuse: 4, busy: 1, drop: 3, lose: 3, hang: 1, take: 16 }
const RECORDS = ['market_events', 'thread_messages']

interface Note {
  readonly id: string
  readonly refs: string[]
}

/** Keeps duplicates, and supports lookups. */
export async function startRest(seed: string): Promise<Target> {
  const notes: Note[] = []
  const taken: string[] = []
  let trusted = true
  const answer = ({ method, path, query, headers, body }: Arrived): Reply => {
    if (!trusted || headers.authorization !== `Bearer ${TOKEN}`) return { status: 401, body: { error: 'invalid_token' } }
    if (method === 'GET') return { status: 200, body: notes.find(({ refs }) => refs.includes(query.get('ref') ?? '')) ?? {} }
    const said: unknown = JSON.parse(body)
    if (!isObject(said) || typeof said['ref'] !== 'string') return { status: 400, body: { error: 'no ref' } }
    const known = notes.find(({ id }) => path === `/notes/${id}`)
    if (method === 'PUT' && !known) return { status: 404, body: {} }
    const note = known ?? { id: `n-${notes.length + 1}`, refs: [] }
    if (!known) notes.push(note)
    note.refs.push(said['ref'])
    taken.push(said['ref'])
    return { status: known ? 200 : 201, body: { id: note.id } }
  }
  const server = await startServer(answer, ({ method }) => method !== 'GET')
  const base = 'settings.base_url, "notes"'
  const destination = {
    ...COMMON,
    name: 'rest',
    kind: 'http',
    entities: RECORDS,
    operations: ['insert', 'update'],
    suspend_on: [401],
    settings: { base_url: server.url },
    auth: { type: 'bearer', token: '${REST_TOKEN}' },
    request: { url: `$url(${base})`, body: '{"ref": message_id, "text": after.type}' },
    update: { method: 'PUT', url: `$url(${base}, remote_id)`, body: '{"ref": message_id, "filled": after}' },
    lookup: { method: 'GET', url: `$url(${base}, {"ref": message_id})`, found: 'body.id' },
    remote_id: 'body.id',
  }
  return {
    ...planned(server, mixed(`${seed} rest`, FAULTS)),
    destination,
    env: { REST_TOKEN: TOKEN },
    wants: isRecord,
    taken: () => taken,
    once: true,
    withdraw: () => {
      trusted = false
    },
    giveBack: () => {
      trusted = true
    },
  }
}

/** Speaks XML, says what is wrong with status 200, and knows a reference that it has. */
export async function startSoap(seed: string): Promise<Target> {
  const taken: string[] = []
  let calls = 0
  const answer = ({ body }: Arrived): Reply => {
    const add = within(readXml(body), 'add')
    const ref = within(add, 'ref')?.text ?? ''
    const said = (text: string): Reply => ({ status: 200, type: 'text/xml', body: `<Envelope><Body>${text}</Body></Envelope>` })
    if (ref === '') return said('<Fault>no reference</Fault>')
    if (taken.includes(ref)) return said('<duplicate/>')
    // Sometimes it answers 200 with an error in the body.
    calls += 1
    if (calls % 13 === 0) return said('<Fault>The database is locked.</Fault>')
    taken.push(ref)
    return said('<stored/>')
  }
  const server = await startServer(answer, () => true)
  const body =
    '{"s:Envelope": {"@xmlns:s": "urn:soap", "s:Body": {"add": {"@of": entity, "ref": message_id, "text": after.type & " <&> " & seq}}}}'
  const destination = {
    ...COMMON,
    name: 'soap',
    kind: 'http',
    entities: RECORDS,
    operations: ['insert', 'update'],
    idempotent: true,
    settings: { url: server.url },
    request: { url: 'settings.url', headers: { SOAPAction: '"urn:add"', 'content-type': '"text/xml"' }, format: 'xml', body },
    success: '$contains(body, "<stored/>")',
    duplicate: '$contains(body, "<duplicate/>")',
  }
  return {
    ...planned(server, mixed(`${seed} soap`, FAULTS)),
    destination,
    env: {},
    wants: isRecord,
    taken: () => taken,
    once: true,
  }
}

/** Plans one fault for each write, in order. */
export function planned(server: EmulatorServer, faults: readonly Fault[]): Pick<Target, 'left' | 'heal' | 'close'> {
  server.fail(...faults)
  return { left: () => server.left(), heal: () => undefined, close: () => server.close() }
}
