import { systemClock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { compareWithTruth, truthSchema } from '../../src/demo/compare.ts'
import { submissionTruth } from '../../src/sandbox/service/truth.ts'
import type { Unshown } from '../../src/sandbox/service/unshown.ts'
import type { World } from '../../src/sandbox/world/world.ts'
import { openDb } from '../../src/store/open/open.ts'
import { logFaults } from '../e2e/agreement.ts'
import type { Look } from './look.ts'
import { ACCOUNT } from './service.ts'

/** Feeds need a full re-read and then another read, since a full re-read keeps the cursor. Without a cursor every read is full. */
const READS = `
  select submission_id || ' ' || read as name, case when read in ('events', 'thread') then last_full_read_at else last_read_at end as at
  from sync_reads`
/** Bind requests and their records are not simulated. */
const EVERY_READ = `${READS}
  where read in ('events', 'thread', 'requirements', 'outstanding', 'workspace', 'sessions')`
const READ_AGAIN = `${READS}
  where last_read_at >= ? and (read not in ('events', 'thread') or (last_full_read_at >= ? and (cursor is null or last_read_at > last_full_read_at)))`

interface Read extends Readonly<Record<string, unknown>> {
  readonly name: string
  /** The last full re-read, or the last read where there is none. */
  readonly at: string | null
}

/** Remaining work after the last fault. */
export class Waits {
  readonly #look: Look
  readonly #sender: { readonly pending: number }
  readonly #since: string
  readonly #readAgain = new Set<string>()
  /** A clock that was ahead left future times, so only changed times count. */
  readonly #before: ReadonlyMap<string, string | null>

  constructor(look: Look, sender: { readonly pending: number }, sinceMs: number) {
    this.#look = look
    this.#sender = sender
    this.#since = new Date(sinceMs).toISOString()
    this.#before = new Map(look.rows<Read>(READS).map(({ name, at }) => [name, at]))
  }

  /** @returns the kinds and amounts of remaining work; empty at rest. */
  left(): string[] {
    const look = this.#look
    const reads = look.rows<Read>(EVERY_READ).map(({ name }) => name)
    for (const { name, at } of look.rows<Read>(READ_AGAIN, this.#since, this.#since))
      if (at !== this.#before.get(name)) this.#readAgain.add(name)
    const waits = {
      deliveries: this.#sender.pending,
      inbox: look.count("select count(*) from sync_inbox where state = 'ready'"),
      leases: look.count('select count(*) from sync_reads where lease_token is not null'),
      reads: reads.filter((read) => !this.#readAgain.has(read)).length,
      cursors: look.count('select count(*) from sync_destinations where cursor < (select last_seq from mirror_info)'),
      outbox: look.count("select count(*) from sync_outbox where state = 'ready'"),
      runs: look.count("select count(*) from reconcile_runs where state in ('requested', 'running')"),
    }
    return Object.entries(waits).flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : []))
  }
}

export function isRunEnded(look: Look, runId: string | null): boolean {
  return look.count("select count(*) from reconcile_runs where run_id = ? and state not in ('requested', 'running')", runId) > 0
}

/** @returns a line for the run and each finding, if a dry run found anything. */
export function brokenProof(look: Look, runId: string | null): string[] {
  const [run] = look.rows('select state, exit_code, moved, note from reconcile_runs where run_id = ?', runId)
  if (run?.['state'] === 'done' && run['exit_code'] === 0 && run['moved'] === 0) return []
  const findings = look.rows('select kind, entity, entity_id, fields, detail from reconcile_findings where run_id = ?', runId)
  return [`the dry run does not prove the mirror: ${JSON.stringify(run)}`, ...findings.map((finding) => JSON.stringify(finding))]
}

/** A workspace without the structured workflow shows nothing about earlier applications. */
const OF_WORKFLOW = new Set(['applications', 'application_answers'])

/** Records of bind requests, which the simulated service lacks. */
const NOT_SIMULATED = new Set(['bind_requests', 'bind_assumptions', 'bind_contingencies', 'policies', 'insureds'])

/** Compares the mirror with the world and with its change log, in real time, without other users of the database. */
export async function brokenMirror(path: string, look: Look, world: World, unshown: Unshown, log: Log): Promise<string[]> {
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log })
  try {
    const known = look.rows<{ id: string }>('select submission_id as id from submissions')
    // Nor are documents of policies.
    const submissions = known.map(({ id }) => ({
      ...submissionTruth(world.submission(ACCOUNT, id), 0, unshown),
      bind_requests: [],
      policies: [],
    }))
    const compared = await compareWithTruth(db.read, ACCOUNT, truthSchema.parse({ account: ACCOUNT, submissions }))
    const legacy = new Set(
      submissions.filter(({ workspace }) => workspace['workflow_version'] === 'legacy').map((one) => one.submission_id),
    )
    const simulated = compared.filter(({ table }) => !NOT_SIMULATED.has(table))
    const lines = simulated.flatMap(({ table, differences }) =>
      differences
        .filter((one) => !(one.what === 'surplus' && OF_WORKFLOW.has(table) && legacy.has(one.submissionId)))
        .map(({ key, what }) => `invariant 2: ${table} ${key}: ${String(what)}`),
    )
    return [...(await logFaults(db)).map((fault) => `invariant 3: ${fault}`), ...lines]
  } finally {
    await db.close()
  }
}
