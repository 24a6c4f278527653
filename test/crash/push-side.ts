import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import { columnsWhere, isInChangeLog, type Row } from '../../src/model/entity.ts'
import { canonicalJson } from '../../src/model/json.ts'
import { personalDataFilter } from '../../src/model/personal.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { countDestinations, setDestinationState } from '../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../src/store/outbox/push-map.ts'
import { retryRows } from '../../src/store/outbox/retry.ts'
import { waitFor, whileUnchanged } from '../e2e/agreement.ts'
import { bodyFaults, type Expected, outboxFaults, pushFaults } from '../push/agreement.ts'
import { Hooks } from '../push/hooks.ts'
import { outboxOf } from '../push/outbox.ts'
import { rowsOf } from '../tools/mirror.ts'
import { ACCOUNT } from './checks.ts'
import type { PushedTo } from './rig.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const COMMON = {
  kind: 'webhook',
  secret: '${HOOK_SECRET}',
  start: 0,
  backfill: true,
  allow_private: true,
  timeout: '2s',
  schedule: Array.from({ length: 20 }, () => '20ms'),
} as const

/** Gets every change, and all submissions are mapped to clients. */
export const MAIN = 'main'
const MAPPED = 'mapped'
/** Must get no change twice, unless an operator decides so. */
const WARY = 'wary'

/** A filter as JSONata and as TypeScript. Records begin and cease to match it. */
export const FILTER = 'entity = "lanes" and row.chip != "in_progress" or entity = "market_events" and row.type != "status_changed"'
function passes(table: string, row: Row): boolean {
  return table === 'lanes' ? row['chip'] !== 'in_progress' : table === 'market_events' && row['type'] !== 'status_changed'
}

type Settings = Readonly<Record<string, unknown>>

export class PushSide implements PushedTo {
  readonly hooks: Hooks
  /** Ids that an operator may have skipped. */
  readonly #skipped = new Set<string>()
  /** Ids of dead letters and unknown pushes. Later changes overtake them. */
  readonly #late = new Set<string>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'submission-mirror-crash-'))
  readonly #destinations = new Map<string, Settings>()
  readonly #unwatched: Settings[] = []

  private constructor(hooks: Hooks) {
    this.hooks = hooks
  }

  static async open(): Promise<PushSide> {
    const side = new PushSide(await Hooks.start(SECRET))
    // Low concurrency, so that claimed streams wait.
    side.add(MAIN, { concurrency: 2 })
    side.add(MAPPED, { mapping: 'required' })
    side.add(WARY, { idempotent: false })
    return side
  }

  /** Adds a destination from the next start on. @returns the settings of that start. */
  add(name: string, own: Settings = {}): Record<string, string> {
    this.#destinations.set(name, { ...COMMON, name, url: this.hooks.urlOf(name), ...own })
    return this.settings
  }

  /** Adds a destination with a stored refresh token. Its pushes aren't checked. */
  addRefreshing(name: string): Record<string, string> {
    const { start, allow_private } = COMMON
    const auth = { type: 'password', token_url: this.hooks.urlOf('plain/token'), username: 'u', password: '${HOOK_SECRET}', refresh: true }
    const request = { url: JSON.stringify(this.hooks.urlOf('plain/note')), body: '{"id": message_id}' }
    this.#unwatched.push({ name, kind: 'http', start, allow_private, idempotent: true, auth, request })
    return this.settings
  }

  get settings(): Record<string, string> {
    const path = join(this.#folder, 'mirror.yaml')
    writeFileSync(path, JSON.stringify({ destinations: [...this.#destinations.values(), ...this.#unwatched] }))
    return { CONFIG_FILE: path, HOOK_SECRET: SECRET, PROTECT_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` }
  }

  /** Records dead letters and unknown pushes. @param given whether an operator skips them. */
  async noteDead(db: Db, given = false): Promise<void> {
    const rows = await db.read.sql.selectFrom('sync_outbox').select('message_id').where('state', 'in', ['dead', 'unknown']).execute()
    for (const { message_id: id } of rows) {
      this.#late.add(id)
      if (given) this.#skipped.add(id)
    }
  }

  /** Checks the database of a product that was killed at any moment. */
  async checkDead(db: Db): Promise<void> {
    await this.noteDead(db)
    const faults: string[] = []
    for (const name of this.#logged()) faults.push(...(await outboxFaults(db, { destination: name }, this.hooks.takenBy(name))))
    faults.push(...(await bodyFaults(db, this.hooks.arrivals)))
    expect(faults, 'the outbox').toEqual([])
  }

  /** Does what operators do, lets the product push, and checks the result. */
  async checkSettled(db: Db): Promise<void> {
    this.hooks.mishap = () => 'take'
    const names = [...this.#destinations.keys()]
    const faults = await whileUnchanged(db, async () => {
      await this.#sendAll(db, names)
      return this.#faults(db, names)
    })
    expect(faults, 'what was pushed').toEqual([])
    expect(this.hooks.forged).toBe(0)
  }

  async #sendAll(db: Db, names: readonly string[]): Promise<void> {
    let left = await this.#left(db, names)
    while (left > 0) {
      await this.#operate(db)
      const before = left
      const moved = await waitFor(async () => {
        left = await this.#left(db, names)
        return left === 0 || left !== before
      })
      expect(moved, `something waits: ${JSON.stringify(await countDestinations(db.read))}`).toBe(true)
    }
  }

  async #faults(db: Db, names: readonly string[]): Promise<string[]> {
    const faults = await bodyFaults(db, this.hooks.arrivals)
    const wary = this.hooks.takenBy(WARY)
    faults.push(...wary.filter((id, place) => wary.indexOf(id) < place && !this.#late.has(id)).map((id) => `${id} reached ${WARY} twice`))
    for (const name of this.#logged()) faults.push(...(await pushFaults(db, this.#expected(name), this.hooks.takenBy(name))))
    for (const name of names) if (!this.#logged().includes(name)) faults.push(...(await this.#snapshotFaults(db, name)))
    return faults
  }

  async close(): Promise<void> {
    await this.hooks.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Counts open work. A destination that isn't known yet counts as 1. */
  async #left(db: Db, names: readonly string[]): Promise<number> {
    const { last_seq } = await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    const states = new Map((await countDestinations(db.read)).map((state) => [state.destination, state]))
    return names.reduce((sum, name) => {
      const state = states.get(name)
      if (!state) return sum + 1
      const { cursor, queued, dead, unknown, snapshot } = state
      // Work for an operator counts double, so that the sum shows it.
      const stopped = 2 * (dead + unknown) + (state.state === 'active' ? 0 : 1)
      return sum + (last_seq - cursor) + queued + stopped + (snapshot === null ? 0 : 1)
    }, 0)
  }

  #expected(destination: string): Expected {
    return { destination, skipped: this.#skipped, outOfTurn: this.#late }
  }

  #logged(): string[] {
    return [...this.#destinations].filter(([, { start, filter }]) => start !== 'snapshot' && filter === undefined).map(([name]) => name)
  }

  async #operate(db: Db): Promise<void> {
    await this.noteDead(db)
    const states = await countDestinations(db.read)
    for (const { destination, state, dead, unknown } of states) {
      if (state !== 'active') await setDestinationState(db, destination, 'active', null)
      if (dead + unknown > 0) await retryRows(db, { destination }, 0, 1_000)
    }
    if (!states.some(({ destination, queued }) => destination === MAPPED && queued > 0)) return
    const mapped = new Set((await db.read.sql.selectFrom('push_map').select('submission_id').execute()).map((row) => row.submission_id))
    const rows = await outboxOf(db, MAPPED)
    const missing = [...new Set(rows.map((row) => row.submission_id ?? ''))].filter((id) => !mapped.has(id))
    if (missing.length > 0) await storeMappings(db, missing.map(mappingOf), 'import')
  }

  /** A receiver that keeps rows by key ends with the mirror's rows that pass the filter, without personal or unlogged values. */
  async #snapshotFaults(db: Db, destination: string): Promise<string[]> {
    const strip = personalDataFilter([])
    const held = new Map<string, Record<string, unknown>>()
    const seen = new Set<string>()
    for (const { hook, id, body, taken } of this.hooks.arrivals) {
      if (!taken || hook !== destination || seen.has(id)) continue
      seen.add(id)
      const { data, left_filter: isLeaving = false } = JSON.parse(body) as {
        data: { entity: string; entity_id: string; after: Record<string, unknown> }
        left_filter?: boolean
      }
      const key = `${data.entity} ${data.entity_id}`
      if (isLeaving) held.delete(key)
      else held.set(key, { ...held.get(key), ...data.after })
    }
    const faults: string[] = []
    const isFiltered = this.#destinations.get(destination)?.['filter'] !== undefined
    for (const entity of entities) {
      const columns = columnsWhere(entity, isInChangeLog)
      for (const stored of await rowsOf(db, entity)) {
        if (isFiltered && !passes(entity.table, stored)) continue
        const row = Object.fromEntries(columns.map((column) => [column, stored[column] ?? null]))
        const key = `${entity.table} ${JSON.stringify(entity.key.slice(1).map((column) => row[column]))}`
        const got = held.get(key)
        if (canonicalJson((got ?? null) as never) !== canonicalJson(strip(entity.table, row))) faults.push(`${destination}: ${key}`)
        held.delete(key)
      }
    }
    return [...faults, ...[...held.keys()].map((key) => `${destination}: ${key} is not in the mirror`)]
  }
}

/** @returns the mapping that operators import for a submission. */
export function mappingOf(submissionId: string): Parameters<typeof storeMappings>[1][number] {
  return { destination: MAPPED, account: ACCOUNT, submissionId, client: `client of ${submissionId}`, policy: null, fields: {} }
}
