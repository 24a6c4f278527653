import type { Query } from '../engine/db.ts'
import type { FindingKind } from '../schema/reconcile.ts'
import type { RunRow } from './runs.ts'

/** What an ended run left that holds until today. */
export interface RunLeft {
  /** Differences between mirror and service, and holes in the change log. */
  readonly differences: number
  /** Things that could not be read. */
  readonly unreadable: number
}

/** An ended run, and what of its findings holds until today. */
export type EndedRun = RunRow & { readonly left: RunLeft }

/** Later visits prove nothing of the change log, nor of destinations. */
const PROVABLE: readonly FindingKind[] = ['missing', 'different', 'absent', 'unreadable']

/**
 * @returns the run with its findings that were neither repaired nor put right since: a later run has proven the submission of each that was.
 * Undelivered changes do not count: the state of their destination tells of them, for as long as they are not delivered.
 */
export async function withLeft(q: Query, run: RunRow): Promise<EndedRun> {
  const differences = Math.max(0, run.missing + run.different + run.absent + run.lost - run.repaired)
  const { unreadable } = run
  if (differences + unreadable === 0) return { ...run, left: { differences, unreadable } }
  const rows = await q.sql
    .selectFrom('reconcile_findings as f')
    .innerJoin('sync_proofs as p', (join) => join.onRef('p.account', '=', 'f.account').onRef('p.submission_id', '=', 'f.submission_id'))
    .select((eb) => ['f.kind', eb.fn.countAll<number>().as('n')])
    .where('f.run_id', '=', run.run_id)
    .where('f.kind', 'in', PROVABLE)
    .where('f.standing', '=', false)
    .where('f.repaired_at', 'is', null)
    .whereRef('p.proved_at', '>', 'f.found_at')
    .groupBy('f.kind')
    .execute()
  const putRight = (isOf: (kind: FindingKind) => boolean) => rows.reduce((sum, { kind, n }) => sum + (isOf(kind) ? Number(n) : 0), 0)
  return {
    ...run,
    left: {
      differences: Math.max(0, differences - putRight((kind) => kind !== 'unreadable')),
      unreadable: Math.max(0, unreadable - putRight((kind) => kind === 'unreadable')),
    },
  }
}
