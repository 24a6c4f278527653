import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { OWNER, SPARED_MS } from '../../src/documents/storage/storage.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db, Tx } from '../../src/store/engine/db.ts'
import { dbTime } from '../../src/store/engine/sql.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { dumpOf } from '../tools/dump.ts'
import { newFolder } from '../tools/new-folder.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { logFaults, untilAgreed, waitFor } from './agreement.ts'
import { databaseEnv, type Environment, type Served } from './serve.ts'
import { Stage } from './stage.ts'

const KILLS = 4
/** Less than the log of any run, to search all of it. */
const LOG_BYTES = 40_000

/** Short intervals, so that polls and full re-reads come within seconds. */
const QUICK: Environment = {
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  POLL_DORMANT: '2s',
  REPLAY_ACTIVE: '2s',
  REPLAY_QUIET: '2s',
}

describe.each([
  { name: 'sqlite', newPlace: () => newSqlite() },
  { name: 'postgres', newPlace: () => newPostgres(inject('postgresUrl')) },
])('with faults, kills and files, on $name', ({ newPlace }) => {
  it('trap 67, trap 68, trap 75: every table agrees, every document is in the folder, and no tax id is stored or logged', async () => {
    const place = newPlace()
    onTestFinished(() => place.remove())
    const folder = newFolder()
    const stage = await closedAtEnd(Stage.open(place.config, { seed: 'whole state', submissions: 6, faults: 'all' }))
    const { sandbox } = stage
    const log = join(folder, 'log')
    const files = databaseEnv(place.config)['DOCUMENTS_DIR'] ?? ''
    onTestFinished(() => rmSync(files, { recursive: true, force: true }))
    const serve = async (polling = QUICK) => {
      const started = await stage.serveApart({ ...polling, UPSTREAM_RPS: '200', DOCUMENTS: 'fetch', LOG_LEVEL: 'trace' })
      appendFileSync(log, started.lines().join('\n'))
      for (const stream of [started.process.stdout, started.process.stderr])
        stream?.on('data', (chunk: Buffer) => appendFileSync(log, chunk))
      return started
    }

    let running = await serve()
    await stage.track()
    const { total } = sandbox.stats().story
    const db = await stage.openStore()
    for (let kill = 0; kill <= KILLS; kill++) {
      stage.deliverTo(running.receiver)
      const [before, wanted] = [await storedOf(db), Math.ceil((total * (kill + 1)) / (KILLS + 1))]
      while (sandbox.stats().story.played < wanted) sandbox.story.step()
      if (kill === KILLS) break
      // Killed just after it recorded another document, during other transfers.
      await until('one more document is stored', async () => (await storedOf(db)) > before)
      await running.kill()
      expect(await unfound(db, files)).toEqual([])
      running = await serve()
    }
    await sandbox.deliveries.idle()
    sandbox.faults.set([])
    expect(await untilAgreed(db, sandbox, running), running.lines().join('\n')).toEqual([])
    // Files have the lowest priority, and reads never stop here.
    expect(await running.stop()).toBe(0)
    ageLeftovers(files)
    running = await serve({})
    await untilFetched(db, running)

    expect(await running.stop()).toBe(0)
    expect(await logFaults(db)).toEqual([])
    expect(await unfound(db, files)).toEqual([])
    expect(filesIn(files)).toEqual(await shasOf(db))
    const taxIds = taxIdsOf(sandbox)
    expect(taxIds.length).toBeGreaterThan(3)
    expect(statSync(log).size).toBeGreaterThan(LOG_BYTES)
    const kept = `${await dumpOf(db)}\n${readFileSync(log, 'utf8')}`
    expect(taxIds.filter((id) => kept.includes(id) || kept.includes(id.replace('-', '')))).toEqual([])
    expect(kept).toContain('applicant.fein')
    expect(kept).toContain('[protected]')
  })
})

interface Stored {
  readonly sha256: string
  readonly stored_path: string
  readonly stored_bytes: number
}

async function storedRows(db: Db): Promise<Stored[]> {
  const rows = db.read.sql.selectFrom('documents').select(['sha256', 'stored_path', 'stored_bytes']).where('stored_at', 'is not', null)
  return (await rows.execute()) as Stored[]
}

async function storedOf(db: Db): Promise<number> {
  return (await storedRows(db)).length
}

async function shasOf(db: Db): Promise<string[]> {
  return [...new Set((await storedRows(db)).map(({ sha256 }) => sha256))].sort()
}

async function unfound(db: Db, folder: string): Promise<string[]> {
  return (await storedRows(db)).flatMap(({ sha256, stored_path, stored_bytes }) => {
    const bytes = readFileSync(join(folder, stored_path))
    return bytes.length === stored_bytes && createHash('sha256').update(bytes).digest('hex') === sha256 ? [] : [stored_path]
  })
}

/** Ages leftovers of a killed process, which the first sweep then removes. */
function ageLeftovers(folder: string): void {
  const old = new Date(Date.now() - 2 * SPARED_MS)
  for (const name of readdirSync(folder, { recursive: true })) utimesSync(join(folder, String(name)), old, old)
}

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true }).map(String)
  return names.flatMap((name) => (statSync(join(folder, name)).isFile() && name !== OWNER ? [basename(name)] : [])).sort()
}

/** Waits until every document below the base URL is stored, with failed ones made due again. */
async function untilFetched(db: Db, running: Served): Promise<void> {
  const shown = db.read.sql.selectFrom('documents').select('document_key').where('gone_at', 'is', null)
  // Carriers' links are on an unlisted host.
  const open = () => shown.where('stored_at', 'is', null).where('document_url', 'is', null)
  const isDone = async () => {
    const keys = (await open().execute()).map(({ document_key }) => document_key)
    if (keys.length === 0) return true
    const failed = (tx: Tx) =>
      sql`update sync_documents set due_at = ${dbTime(tx)} where lease_token is null and document_key in (${sql.join(keys)})`
    await db.write('test-due', (tx) => tx.run(failed(tx)))
    return false
  }
  await waitFor(isDone)
  expect(await open().select(['download_path', 'error']).execute(), running.lines().join('\n')).toEqual([])
}

function taxIdsOf(sandbox: Sandbox): string[] {
  const facts = sandbox.accountNames.flatMap((account) => sandbox.truth(account)).flatMap(({ workspace }) => factsIn(workspace))
  return facts.filter(({ key }) => key === 'applicant.fein').map(({ value }) => String(value))
}

function factsIn(workspace: unknown): { readonly key: string; readonly value: unknown }[] {
  return (workspace as { facts: { facts: { key: string; value: unknown }[] } }).facts.facts
}
