import { decodeCursor } from '../../src/sandbox/world/cursor.ts'
import type { Feed, Positioned } from '../../src/sandbox/world/feeds.ts'
import type { World } from '../../src/sandbox/world/world.ts'
import type { Ams } from './ams.ts'
import type { Look } from './look.ts'
import { ACCOUNT, type Service } from './service.ts'

export interface Evidence {
  readonly look: Look
  readonly world: World
  readonly service: Service
  readonly acknowledged: ReadonlySet<string>
  /** Complete events and messages in a delivery, by its id. */
  readonly items: ReadonlyMap<string, readonly string[]>
  readonly destinations: readonly { readonly name: string; readonly ams: Ams; readonly once: boolean }[]
}

/** @returns a line if a delivery that gets 204 now is not committed. */
export function brokenAnswer(look: Look, id: string): string[] {
  const isStored = look.count('select count(*) from sync_inbox where delivery_id = ?', id) > 0
  return isStored ? [] : [`invariant 1: ${id} is answered 204 before it is in the inbox`]
}

/** @returns a line for each broken invariant that must always hold. */
export function brokenNow({ look, acknowledged, items, service }: Evidence): string[] {
  const states = new Map(
    look.rows<{ id: string; state: string }>('select delivery_id as id, state from sync_inbox').map(({ id, state }) => [id, state]),
  )
  const known = new Set(
    look
      .rows<{ id: string }>('select event_id as id from market_events union all select message_id from thread_messages')
      .map(({ id }) => id),
  )
  const broken = [...acknowledged]
    .filter((id) => !states.has(id))
    .map((id) => `invariant 1: ${id} was answered 204 and is not in the inbox`)
  for (const [delivery, state] of states)
    for (const id of state === 'done' ? (items.get(delivery) ?? []) : [])
      if (!known.has(id)) broken.push(`invariant 3: ${delivery} is done, and ${id} is not in the mirror`)
  for (const { id, read, cursor } of look.rows<{ id: string; read: string; cursor: string }>(CURSORS))
    for (const item of service.cursors.get(`${id} ${read}`)?.get(cursor) ?? [])
      if (!known.has(item))
        broken.push(`invariant 8: the cursor of ${read} of ${id} is stored, and ${item} of its page is not in the mirror`)
  return broken
}

const CURSORS = "select submission_id as id, read, cursor from sync_reads where read in ('events', 'thread') and cursor is not null"

export function brokenAtRest(evidence: Evidence): string[] {
  const changes = changesOf(evidence.look)
  return [
    ...brokenNow(evidence),
    ...unsettled(evidence.look),
    ...brokenChain(changes),
    ...insertedTwice(changes),
    ...olderOverNewer(changes),
    ...evidence.destinations.flatMap((destination) => brokenPushes(destination, changes, evidence.look)),
    ...brokenCursors(evidence),
  ]
}

interface Change {
  readonly seq: number
  readonly account: string
  readonly submission_id: string
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

function changesOf(look: Look): Change[] {
  const rows = look.rows<Omit<Change, 'before' | 'after'> & { before: string | null; after: string | null }>(
    'select * from changes order by seq',
  )
  const parsed = (text: string | null) => (text === null ? null : (JSON.parse(text) as Record<string, unknown>))
  return rows.map((row) => ({ ...row, before: parsed(row.before), after: parsed(row.after) }))
}

function unsettled(look: Look): string[] {
  const rows = look.rows<{ id: string; state: string; error: string | null }>(
    "select delivery_id as id, state, error from sync_inbox where state not in ('done', 'aside')",
  )
  return rows.map(({ id, state, error }) => `invariant 11: delivery ${id} is ${state} (${error})`)
}

/** Invariants 3 and 9: numbers without gaps, and each change's previous values equal the changes before it. */
function brokenChain(changes: readonly Change[]): string[] {
  const broken: string[] = []
  const known = new Map<string, Record<string, unknown>>()
  for (const [position, { seq, account, entity, entity_id, operation, before, after }] of changes.entries()) {
    if (seq !== position + 1) broken.push(`invariant 9: change ${seq} is at ${position + 1}`)
    const key = `${account} ${entity} ${entity_id}`
    const row = known.get(key)
    if ((row === undefined) !== (operation === 'insert')) broken.push(`invariant 3: change ${seq} is an ${operation} of ${key}`)
    for (const [column, value] of Object.entries(before ?? {}))
      if (row !== undefined && JSON.stringify(row[column] ?? null) !== JSON.stringify(value))
        broken.push(`invariant 3: before change ${seq} of ${key} ${column} was not ${JSON.stringify(value)}`)
    known.set(key, { ...row, ...after })
  }
  return broken
}

function insertedTwice(changes: readonly Change[]): string[] {
  const inserts = changes.filter(({ operation }) => operation === 'insert').map(({ entity, entity_id }) => `${entity} ${entity_id}`)
  return inserts.filter((key, position) => inserts.indexOf(key) !== position).map((key) => `invariant 4: ${key} was inserted twice`)
}

/** The version in each view of a submission only grows. */
function olderOverNewer(changes: readonly Change[]): string[] {
  const newest = new Map<string, string>()
  const broken: string[] = []
  for (const { seq, entity, entity_id, after } of changes) {
    const version = after?.['marketing_hint']
    if (entity !== 'submissions' || typeof version !== 'string' || !version.startsWith('version')) continue
    const before = newest.get(entity_id)
    if (before !== undefined && version < before) broken.push(`invariant 6: change ${seq} puts ${version} over ${before}`)
    newest.set(entity_id, version)
  }
  return broken
}

/** Each change is once in the outbox and at least once at the destination, in the order of its stream. */
function brokenPushes({ name, ams, once }: Evidence['destinations'][number], changes: readonly Change[], look: Look): string[] {
  const broken: string[] = []
  const rows = look.rows<{ seq: number; message_id: string; state: string }>(
    'select seq, message_id, state from sync_outbox where destination = ? order by outbox_id',
    name,
  )
  const queued = rows.map(({ seq }) => seq).join()
  if (queued !== changes.map(({ seq }) => seq).join()) broken.push(`invariant 3: the outbox of ${name} has ${queued}`)
  broken.push(...rows.filter(({ state }) => state !== 'delivered').map(({ seq, state }) => `the push of ${seq} to ${name} is ${state}`))
  const first = new Map<number, number>()
  for (const [position, { seq }] of ams.taken.entries()) {
    if (!first.has(seq)) first.set(seq, position)
    else if (once) broken.push(`${name} got change ${seq} twice`)
  }
  const reached = new Map<string, { seq: number; position: number }>()
  for (const { seq, submission_id, account } of changes) {
    const position = first.get(seq)
    if (position === undefined) {
      broken.push(`${name} never got change ${seq}`)
      continue
    }
    const lane = `${account} ${submission_id}`
    const before = reached.get(lane)
    if (before !== undefined && before.position > position) broken.push(`invariant 14: ${name} got change ${seq} before ${before.seq}`)
    reached.set(lane, { seq, position })
  }
  const ids = new Map(rows.map(({ seq, message_id }) => [seq, message_id]))
  broken.push(
    ...ams.taken.filter(({ seq, messageId }) => ids.get(seq) !== messageId).map(({ seq }) => `${name} got change ${seq} under another id`),
  )
  return broken
}

/** Invariant 8: the cursor belongs to this feed, and all earlier pages precede it. */
function brokenCursors({ look, world, service }: Evidence): string[] {
  const broken: string[] = []
  const rows = look.rows<{ id: string; read: 'events' | 'thread'; cursor: string | null }>(
    "select submission_id as id, read, cursor from sync_reads where read in ('events', 'thread')",
  )
  for (const { id, read, cursor } of rows) {
    const handedOut = service.cursors.get(`${id} ${read}`) ?? new Map()
    const submission = world.submission(ACCOUNT, id)
    const feed: Feed<Positioned> = read === 'events' ? submission.events : submission.thread
    const position = cursor === null ? null : decodeCursor(`${read}:${id}`, cursor)?.position
    if (cursor !== null && !handedOut.has(cursor)) broken.push(`invariant 8: the cursor of ${read} of ${id} was never handed out`)
    const rest = position ? feed.after(position, PAGE) : feed.after({ time: '', id: '' }, PAGE)
    if (rest.more) broken.push(`invariant 8: the cursor of ${read} of ${id} (${cursor}) is more than a page behind`)
  }
  return broken
}

const PAGE = 4
