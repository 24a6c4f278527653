import { isNarrowed } from '../../store/reconcile/runs.ts'
import { type FindingKind, findingKinds, type ReconcileRunsTable } from '../../store/schema/reconcile.ts'
import type { ReportData } from './report-data.ts'
import { unreachedText } from './verdict.ts'
import { kindNames, moment, number, pluralize } from './words.ts'

/** What the findings of one kind mean, and what to do. */
export interface Meaning {
  readonly term: string
  readonly text: string
}

/** @param n number of new findings. @param repaired number of these findings that were repaired. */
type Explain = (n: number, run: ReconcileRunsTable, repaired: number) => string

const explained: Readonly<Record<FindingKind, Explain>> = {
  missing: (n, run) =>
    `The mirror lacked ${pluralize(n, 'record')} of the service. Possible causes: a webhook was lost before the next poll, a record ` +
    `appeared late, or rows were deleted from the database. ${
      isDry(run)
        ? 'They were not added, because this was a dry run: run `submission-mirror reconcile` without --dry-run.'
        : 'They were added, and destinations receive them.'
    }`,
  different: (n, run, repaired) =>
    `${pluralize(n, 'record')} differed from the service. Polled state may be outdated. Other differences come from changes in the database or ` +
    `wrong deliveries. The service is the authority. ${setText(n, run, repaired)}`,
  absent: (n, run, repaired) =>
    `Two reads of the service did not show ${pluralize(n, 'record')} of the mirror. The service shows only what is visible at the time, so the record may ` +
    `still be right. ${markedText(n, run, repaired)}`,
  unreadable: (n) =>
    `${pluralize(n, 'read')} failed repeatedly, so their content is unverified. Check the reasons below, then ` +
    'run `submission-mirror reconcile --submission ID` for these.',
  undelivered: (n) =>
    `${unreachedText(n)}: the table below shows whether each is waiting, dead-lettered, or may have arrived. ` +
    'See `submission-mirror outbox list`, then use `outbox retry` or `outbox skip`. Check the destination first for changes that may have arrived.',
  lost: (n) =>
    `The change log has ${pluralize(n, 'gap')}: rows of \`changes\` were deleted from the database and cannot be restored. The other tables are intact. ` +
    'Readers of the log that were behind must read the tables again; `submission-mirror migrate --new-epoch` makes all readers do so. ' +
    'Configure a destination that was behind under a new name with `start: snapshot`.',
  moved: (n, run) =>
    `${pluralize(n, 'record')} changed at the service after the mirror last read ${n === 1 ? 'it' : 'them'}, as live traffic does. ` +
    (isDry(run) ? 'The next poll reads the changes.' : 'The run stored the changes.'),
}

/** Rows under an id that isn't a UUID are never marked as gone, so `repaired` may be less than `n`. */
function markedText(n: number, run: ReconcileRunsTable, repaired: number): string {
  if (isDry(run)) return 'Nothing was marked.'
  const rows = repaired === n ? 'The rows' : `${number(repaired)} of the rows`
  const marked = repaired === 0 ? [] : [`${rows} were marked and kept; they come back automatically when the service shows them again.`]
  return [...marked, ...(repaired === n ? [] : ['For unmarked rows, see the table below.'])].join(' ')
}

function setText(n: number, run: ReconcileRunsTable, repaired: number): string {
  if (isDry(run)) return 'Nothing was changed, because this was a dry run.'
  if (repaired === 0) return 'Nothing was changed, because no second read confirmed it. The next run checks again.'
  const rows = repaired === n ? 'The rows' : `${number(repaired)} of the rows`
  const before = '`changes` has their previous values, except for differences only in `raw` or in `mirror_info`'
  const others = repaired === n ? '' : ' The others were left unchanged, because no second read confirmed them. The next run checks again.'
  return `${rows} were corrected; ${before}.${others}`
}

/** @returns the meaning of new findings by kind, then the meaning of known findings. */
export function meaningsOf({ run, groups }: ReportData): Meaning[] {
  const meanings = findingKinds.flatMap((kind): Meaning[] => {
    const n = run[kind]
    return n === 0 ? [] : [{ term: kindNames[kind], text: explained[kind](n, run, repairedOf(groups, kind)) }]
  })
  if (meanings.length === 0) meanings.push({ term: 'No new findings', text: nothingNew(run) })
  if (run.known > 0) {
    const text = `Earlier runs reported ${pluralize(run.known, 'finding')}: absent records, undelivered changes, gaps in the change log, and parts that the service omits. They change neither the counts nor the exit code.`
    meanings.push({ term: 'Known findings', text })
  }
  return meanings
}

function repairedOf(groups: ReportData['groups'], kind: FindingKind): number {
  const found = groups.filter((group) => group.kind === kind && !group.known).flatMap(({ byEntity }) => byEntity)
  return found.reduce((sum, { repaired }) => sum + repaired, 0)
}

function nothingNew(run: ReconcileRunsTable): string {
  if (run.submissions_done === 0) return 'Nothing was compared.'
  const except = run.known > 0 ? ', except for “Known findings”' : ''
  return `For every compared submission, the mirror has exactly the service's records, with the same content${except}.`
}

/** @returns what no run can check. Every report contains this list. */
export function limitsOf({ run, mirror }: ReportData): string[] {
  const limits = [
    'The service documents no list of submissions. This report covers every submission known to the mirror; others may exist that no delivery, operator or probe ' +
      `named. The mirror knows ${pluralize(mirror.submissions, 'submission')} of this account.`,
    'Market events and messages are those visible to this credential at the time of the read. They never include correspondence with carriers and insureds.',
    `Each submission was compared at the time of its read, between ${moment(run.started_at ?? run.requested_at)} and ${moment(run.ended_at ?? run.updated_at)}. Later changes arrive by webhook and polling, and the next run checks them.`,
  ]
  if (run.options.no_state === true) {
    limits.push('This run excluded state (--no-state): lanes, quotes, offers and the submissions’ own columns were not compared.')
  }
  if (isNarrowed(run.options)) limits.push('This run covered only some submissions.')
  return limits
}

function isDry(run: ReconcileRunsTable): boolean {
  return run.options.dry_run === true
}
