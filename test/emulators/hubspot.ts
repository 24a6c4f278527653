import { isObject } from '../../src/model/json.ts'
import { type Arrived, byHand, jsonIn, type NotesEmulator, type Reply, type StoredNote, startServer } from './server.ts'

interface HubSpotNote extends StoredNote {
  readonly associationType: number
  readonly html: string
  readonly timestamp: string
  readonly ourId: string
}

interface HubSpotEmulator extends NotesEmulator {
  readonly notes: readonly HubSpotNote[]
  forget(): void
}

interface HubSpotOptions {
  readonly token: string
  readonly companies: readonly string[]
}

const BUSY: Reply = {
  status: 429,
  body: { status: 'error', message: 'You have reached your ten_secondly_rolling limit.', policyName: 'TEN_SECONDLY_ROLLING' },
}
const KNOWN = ['hs_timestamp', 'hs_note_body', 'submission_mirror_id']

/** HubSpot's CRM API v3 by its documentation, with a unique property of notes; written from that, never compared with the real system. */
export async function startHubSpot({ token, companies }: HubSpotOptions): Promise<HubSpotEmulator> {
  const notes: HubSpotNote[] = []
  let allowed = true
  let shows = true
  const answer = (request: Arrived): Reply => {
    const { method, path, query } = request
    if (!allowed || request.headers.authorization !== `Bearer ${token}`) return failure(401, 'Authentication credentials not found.')
    if (method === 'GET' && path === '/crm/v3/properties/notes/submission_mirror_id') return { status: 200, body: { hasUniqueValue: true } }
    if (method === 'POST' && path === '/crm/v3/objects/notes') return create(request, companies, notes)
    const key = /^\/crm\/v3\/objects\/notes\/([^/]+)$/.exec(path)?.[1]
    const isById = query.get('idProperty') === 'submission_mirror_id'
    const note = shows && method === 'GET' && isById ? notes.find(({ ourId }) => ourId === key) : undefined
    return note === undefined
      ? failure(404, 'Object not found.')
      : {
          status: 200,
          body: { id: note.id, properties: query.get('properties') === 'hs_note_body' ? { hs_note_body: note.html || null } : {} },
        }
  }
  const server = await startServer(answer, ({ method }) => method === 'POST', BUSY)
  return {
    ...server,
    ...byHand(notes, (note, text) => ({ ...note, text, html: text })),
    notes,
    revokeTokens: () => undefined,
    withdraw: () => {
      allowed = false
    },
    forget: () => {
      shows = false
    },
  }
}

function create(request: Arrived, companies: readonly string[], notes: HubSpotNote[]): Reply {
  const { properties, associations } = jsonIn(request) ?? {}
  if (!isObject(properties) || !Array.isArray(associations)) return failure(400, 'Invalid input JSON')
  const strange = Object.keys(properties).find((name) => !KNOWN.includes(name))
  if (strange !== undefined) return failure(400, `Property "${strange}" does not exist`)
  const { hs_timestamp: timestamp, hs_note_body: html, submission_mirror_id: ourId } = properties
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) return failure(400, 'hs_timestamp is required')
  if (typeof html !== 'string' || html.length > 65_536) return failure(400, 'hs_note_body is too long')
  if (notes.some((note) => note.ourId === ourId)) return failure(400, `Property submission_mirror_id: an object already has that value`)
  const { to, types } = associations[0] as { to: { id: string }; types: { associationCategory: string; associationTypeId: number }[] }
  const [type] = types
  if (type?.associationCategory !== 'HUBSPOT_DEFINED' || type.associationTypeId !== 190 || !companies.includes(to.id))
    return failure(400, 'Some associations are invalid')
  const text = html.replaceAll('<br>', '\n').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const id = String(1 + notes.reduce((last, note) => Math.max(last, Number(note.id)), 9000))
  notes.push({ id, client: to.id, text, html, timestamp, ourId: String(ourId), associationType: type.associationTypeId })
  return { status: 201, body: { id, properties, createdAt: timestamp, archived: false } }
}

function failure(status: number, message: string): Reply {
  return { status, body: { status: 'error', message, correlationId: '1', category: 'VALIDATION_ERROR' } }
}
