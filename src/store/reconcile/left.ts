import type { Query } from '../engine/db.ts'
import type { FindingKind } from '../schema/reconcile.ts'
import type { RunRow } from './runs.ts'

interface RunLeft {
  /** Number of unresolved differences from the service, plus unresolved gaps in the change log. */
  readonly differences: number
  readonly unreadable: number
}

/** An ended run, with the numbers of its unresolved findings. */
export type EndedRun = RunRow & { readonly left: RunLeft }

/**
 * Kinds of findings that are resolved when a later run finds the submission reconciled. Findings about the change log
 * or about destinations aren't resolved in this way.
 */
const RESOLVABLE: readonly FindingKind[] = ['missing', 'different', 'absent', 'unreadable']

/**
 * @returns the run with the numbers of its unresolved findings. A finding is resolved if it was corrected, or if a
 * later run found its submission reconciled. Undelivered changes don't count, because the destination's state shows
 * them.
 */
export async function withLeft(q: Query, run: RunRow): Promise<EndedRun> {
  const differences = Math.max(0, run.missing + run.different + run.absent + run.lost - run.repaired)
  const { unreadable } = run
  if (differences + unreadable === 0) return { ...run, left: { differences, unreadable } }
  const rows = await q.sql
    .selectFrom('reconcile_findings as f')
    .innerJoin('sync_reconciled as p', (join) => join.onRef('p.account', '=', 'f.account').onRef('p.submission_id', '=', 'f.submission_id'))
    .select((eb) => ['f.kind', eb.fn.countAll<number>().as('n')])
    .where('f.run_id', '=', run.run_id)
    .where('f.kind', 'in', RESOLVABLE)
    .where('f.known', '=', false)
    .where('f.repaired_at', 'is', null)
    .whereRef('p.reconciled_at', '>', 'f.found_at')
    .groupBy('f.kind')
    .execute()
  const resolved = (isOf: (kind: FindingKind) => boolean) => rows.reduce((sum, { kind, n }) => sum + (isOf(kind) ? n : 0), 0)
  return {
    ...run,
    left: {
      differences: Math.max(0, differences - resolved((kind) => kind !== 'unreadable')),
      unreadable: Math.max(0, unreadable - resolved((kind) => kind === 'unreadable')),
    },
  }
}
