import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { compareWithTruth, truthSchema } from '../../../src/demo/compare.ts'
import { entities } from '../../../src/model/entities.ts'
import { columnsWhere, isInChangeLog, type Row } from '../../../src/model/entity.ts'
import type { Json } from '../../../src/model/json.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig, Db } from '../../../src/store/engine/db.ts'
import { type FindingRow, listFindings } from '../../../src/store/reconcile/findings.ts'
import { findRun, listRuns, type RunRow } from '../../../src/store/reconcile/runs.ts'
import { type Ended, runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv } from '../../e2e/serve.ts'
import { type OpenedDatabase, openAgain, type TestDatabase } from '../../tools/databases.ts'
import { hastyClock } from '../../tools/hasty-clock.ts'
import { changesOf, replayChanges, rowsOf } from '../../tools/mirror.ts'
import { uuid } from '../../tools/observations.ts'

export const ACCOUNT = 'default'

export interface Reconciled extends Ended {
  readonly run: RunRow
  readonly findings: readonly FindingRow[]
}

export class DamageRig {
  readonly sandbox: Sandbox
  readonly env: Record<string, string>
  /** A submission with lanes, quotes, offers, history, two pages of events, and messages with attachments. */
  readonly rich: string
  readonly plain: string

  readonly #config: DatabaseConfig
  #db: Db

  private constructor(sandbox: Sandbox, { db, config }: Pick<OpenedDatabase, 'db' | 'config'>) {
    this.sandbox = sandbox
    this.#db = db
    this.#config = config
    this.env = { ...accountEnv(sandbox), ...databaseEnv(config), UPSTREAM_RPS: '1000' }
    this.rich = richSubmission(sandbox)
    this.plain = plainSubmission(sandbox)
  }

  /** Ends with the test, or with `onEnd`. */
  static async open(database: TestDatabase, onEnd: (close: () => Promise<void>) => void = onTestFinished): Promise<DamageRig> {
    const sandbox = await startSandbox({ submissions: 0, autoStart: false })
    const opened = await database.open()
    const rig = new DamageRig(sandbox, opened)
    onEnd(async () => {
      await sandbox.close()
      if (rig.#db !== opened.db) await rig.closeDb()
      await opened.close()
    })
    await rig.command('track', rig.rich, rig.plain)
    await rig.command('sync', '--all')
    return rig
  }

  get db(): Db {
    return this.#db
  }

  closeDb(): Promise<void> {
    return this.#db.close()
  }

  async openDb(): Promise<void> {
    this.#db = await openAgain(this.#config)
  }

  async command(...args: readonly string[]): Promise<Ended> {
    const ended = await runHere(args, this.env, { clock: hastyClock })
    if (ended.code !== 0) throw new Error(`${args.join(' ')} ended with ${ended.code}: ${ended.err}${ended.out}`)
    return ended
  }

  async reconcile(...args: readonly string[]): Promise<Reconciled> {
    const before = new Set((await listRuns(this.db.read)).map((run) => run.run_id))
    const ended = await runHere(['reconcile', ...args], this.env, { clock: hastyClock })
    const made = (await listRuns(this.db.read)).filter((run) => !before.has(run.run_id))
    const [first] = made
    if (made.length !== 1 || !first) throw new Error(`${made.length} runs were stored: ${ended.err}${ended.out}`)
    const run = (await findRun(this.db.read, first.run_id)) as RunRow
    return { ...ended, run, findings: await listFindings(this.db.read, { runId: run.run_id }) }
  }

  async damage(...statements: readonly string[]): Promise<void> {
    await this.db.write('test-damage', async (tx) => {
      for (const statement of statements) await tx.run(sql.raw(statement))
    })
  }

  /** Every row of service data, without read times, and the ends of the change log. */
  async state(): Promise<Record<string, Row[]>> {
    const tables: Record<string, Row[]> = {}
    for (const entity of entities) {
      const columns = new Set(columnsWhere(entity, ({ volatile }) => volatile !== true))
      const rows = await rowsOf(this.db, entity)
      tables[entity.table] = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => columns.has(column))))
    }
    const info = await this.db.read.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq', 'log_epoch']).execute()
    return { ...tables, mirror_info: info as unknown as Row[] }
  }

  async differences(): Promise<string[]> {
    const truth = truthSchema.parse({ account: ACCOUNT, submissions: this.sandbox.truth(ACCOUNT) })
    const compared = await compareWithTruth(this.db.read, ACCOUNT, truth)
    return compared.flatMap(({ differences }) => differences.map(({ table, key, what }) => `${table} ${key}: ${String(what)}`))
  }

  async unlogged(): Promise<string[]> {
    const followed = replayChanges(await changesOf(this.db))
    const wrong: string[] = []
    for (const entity of entities) {
      for (const row of await rowsOf(this.db, entity)) {
        const id = JSON.stringify(entity.key.slice(1).map((column) => row[column]))
        const known = followed.get(`${row['account']} ${entity.table} ${id}`)
        const columns = columnsWhere(entity, isInChangeLog)
        const other = columns.filter((column) => !equal(known?.[column] ?? null, row[column] ?? null))
        if (other.length > 0) wrong.push(`${entity.table} ${id}: ${other.join(', ')}`)
      }
    }
    return wrong
  }
}

/** Findings as text: kind, table, key within the submission, and differing fields. */
export function findingTexts(findings: readonly FindingRow[]): string[] {
  return findings
    .map(({ kind, entity, entity_id, submission_id, fields, read, destination }) => {
      const key = entity_id === null ? [] : (JSON.parse(entity_id) as Json[])
      const below = key[0] === submission_id ? key.slice(1) : key
      const names =
        kind === 'different'
          ? [
              `(${(fields ?? [])
                .map(({ field }) => field)
                .sort()
                .join(', ')})`,
            ]
          : []
      const at = kind === 'unreadable' ? [read] : kind === 'undelivered' ? [destination] : []
      return [kind, ...(entity === null ? [] : [entity]), ...below, ...at, ...names].join(' ')
    })
    .sort()
}

function equal(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const lines = ['general_liability']

function richSubmission(sandbox: Sandbox): string {
  const documents_on_file = [{ kind: 'loss_runs', kind_label: 'Loss runs', display_name: 'Loss runs.pdf' }]
  const id = sandbox.addSubmission(ACCOUNT, {
    facts: { insured_name: 'Harbour Bakery LLC', marketing_status: 'matched', documents_on_file },
  })
  const first = sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  const second = sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  const quotes = [1, 2].map((n) => ({
    quote_id: uuid(10, n),
    premium_display: `$${n},200`,
    total_cents: n * 100_000 + 20_000,
    lines,
    is_revision: n > 1,
  }))
  const source_offers = [
    { presentation_id: 'p1', kind: 'quote', label: 'Carrier quote', document_url: '/documents/1', filename: 'quote.pdf' },
  ] as const
  sandbox.patchLane(ACCOUNT, id, first, { rail: { quotes, source_offers, status: 'quoted', status_label: 'Quoted', chip: 'quoted' } })
  const quote_history = [
    {
      history_key: 'old:1',
      market_name: 'Alder Point Specialty',
      program: 'Main',
      outcome: 'expired',
      observed_at: '2026-11-01T10:00:00Z',
    },
  ] as const
  sandbox.setRail(ACCOUNT, id, { quote_history })
  sandbox.addEvents(ACCOUNT, id, [
    { type: 'market_attached', lane_id: first },
    { type: 'market_attached', lane_id: second },
    { type: 'declined', lane_id: second, detail: 'Outside of appetite' },
    ...Array.from({ length: 127 }, () => ({ type: 'status_changed', lane_id: first })),
  ])
  for (const n of [1, 2, 3]) {
    sandbox.addMessage(ACCOUNT, id, {
      body_text: `Text of letter ${n}`,
      subject: `Letter ${n}`,
      from: 'desk@service.example',
      to: ['producer@brokerage.example'],
      attachments: [
        { name: `quote-${n}.pdf`, download_path: `/broker/finalized-documents/${n}/pdf` },
        { name: `form-${n}.pdf`, download_path: null },
      ],
    })
  }
  return id
}

function plainSubmission(sandbox: Sandbox): string {
  const id = sandbox.addSubmission(ACCOUNT, { facts: { insured_name: 'Plain Oak Holdings LLC' } })
  sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
  sandbox.addMessage(ACCOUNT, id, { body_text: 'Welcome' })
  return id
}
