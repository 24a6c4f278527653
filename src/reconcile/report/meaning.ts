import { type FindingKind, findingKinds, type ReconcileRunsTable } from '../../store/schema/reconcile.ts'
import type { ReportData } from './report-data.ts'
import { unreachedText } from './verdict.ts'
import { kindNames, moment, number, pluralize } from './words.ts'

/** What the findings of one kind mean, and what to do about them. */
export interface Meaning {
  readonly term: string
  readonly text: string
}

/** @param n new findings of the kind. @param repaired how many of them were repaired. */
type Explain = (n: number, run: ReconcileRunsTable, repaired: number) => string

const explained: Readonly<Record<FindingKind, Explain>> = {
  missing: (n, run) =>
    `The service showed ${pluralize(n, 'record')} that the mirror did not have. That happens when a webhook was lost and no poll had looked yet, when ` +
    `something became visible late, or when rows were deleted from the database. ${
      isDry(run)
        ? 'They were not added, because this was a dry run: run `submission-mirror reconcile` without --dry-run.'
        : 'They were added; destinations get them like any other change.'
    }`,
  different: (n, run, repaired) =>
    `${pluralize(n, 'record')} did not say what the service says. State that is polled may be older than the service's. Anything else was ` +
    `changed in the database, or came in a wrong delivery. The service is the authority. ${setText(n, run, repaired)}`,
  absent: (n, run, repaired) =>
    `${pluralize(n, 'record')} of the mirror did not appear in two readings of the service. It shows what is visible at the time of reading, so an absence is ` +
    `not proof that the record was wrong. ${markedText(n, run, repaired)}`,
  unreadable: (n) =>
    `${pluralize(n, 'read')} failed, and failed again when repeated. Nothing is proven about what they would have shown. Look at the reasons below, then ` +
    'run `submission-mirror reconcile --submission ID` for these.',
  undelivered: (n) =>
    `${unreachedText(n)}: the table below says of each whether it waits, was given up, or may have arrived. ` +
    'See `submission-mirror outbox list`, then `outbox retry` what is to be sent, or `outbox skip` what need not be sent. Look at the destination first for what may have arrived already.',
  lost: (n) =>
    `The change log has ${pluralize(n, 'hole')}: rows of \`changes\` were taken out of the database. The other tables are not touched by that, but whoever ` +
    'follows the log and had not read so far misses those changes, and nothing can bring them back. Readers that were behind read the tables anew; ' +
    '`submission-mirror migrate --new-epoch` makes all of them do so. A destination that was behind gets everything under a new name with `start: snapshot`.',
  moved: (n, run) =>
    `${pluralize(n, 'record')} changed at the service after the mirror last read ${n === 1 ? 'it' : 'them'}, as live traffic does. ` +
    (isDry(run) ? 'The next poll reads the changes.' : 'The run stored the changes.'),
}

/** What happened to rows that the service does not show. Rows under an id that is no UUID are never marked. */
function markedText(n: number, run: ReconcileRunsTable, repaired: number): string {
  if (isDry(run)) return 'Nothing was marked.'
  const rows = repaired === n ? 'The rows' : `${number(repaired)} of the rows`
  const marked = repaired === 0 ? [] : [`${rows} were marked and kept; they come back by themselves when the service shows them again.`]
  return [...marked, ...(repaired === n ? [] : ['Where nothing was marked, the table below says what to do.'])].join(' ')
}

/** What happened to rows that differ. */
function setText(n: number, run: ReconcileRunsTable, repaired: number): string {
  if (isDry(run)) return 'Nothing was changed, because this was a dry run.'
  if (repaired === 0) return 'Nothing was changed, because no second reading confirmed it: the next run looks again.'
  const rows = repaired === n ? 'The rows' : `${number(repaired)} of the rows`
  const before = 'what they said before stands in `changes`; there is no row of a difference in `raw` alone, nor of `mirror_info`'
  const others =
    repaired === n ? '' : ' The others were left as they are, because no second reading confirmed them: the next run looks again.'
  return `${rows} were set to what it says; ${before}.${others}`
}

/** The meanings of new findings by kind, then of those that earlier runs reported. */
export function meaningsOf({ run, groups }: ReportData): Meaning[] {
  const meanings = findingKinds.flatMap((kind): Meaning[] => {
    const n = run[kind]
    return n === 0 ? [] : [{ term: kindNames[kind], text: explained[kind](n, run, repairedOf(groups, kind)) }]
  })
  if (meanings.length === 0) meanings.push({ term: 'Nothing new', text: nothingNew(run) })
  if (run.known > 0) {
    const text = `${pluralize(run.known, 'finding')} stood before this run: absences that are known, pushes that are still undelivered, holes of the change log, and parts that the service leaves out of its answers. They change neither its counts nor its exit code.`
    meanings.push({ term: 'Known before', text })
  }
  return meanings
}

/** @returns how many new findings of a kind were repaired. */
function repairedOf(groups: ReportData['groups'], kind: FindingKind): number {
  const found = groups.filter((group) => group.kind === kind && !group.standing).flatMap(({ byEntity }) => byEntity)
  return found.reduce((sum, { repaired }) => sum + repaired, 0)
}

function nothingNew(run: ReconcileRunsTable): string {
  if (run.submissions_done === 0) return 'Nothing was compared, so nothing is proven.'
  const but = run.known > 0 ? ', but for what is named under “Known before”' : ''
  return `Of every submission that was compared, each record that the service shows is in the mirror with the same content, and the mirror holds none that the service does not show${but}.`
}

/** What no run can prove. Part of every report. */
export function limitsOf({ run, mirror }: ReportData): string[] {
  const limits = [
    'The service describes no list of submissions. This report is about every submission that the mirror knows of; one that no delivery, no operator and no probe ' +
      `ever named cannot be excluded. The mirror knows ${pluralize(mirror.submissions, 'submission')} of this account.`,
    'Market events and messages are those that the service lets this credential see at the time of reading. Correspondence with carriers and insureds is never among them.',
    `The comparison holds for the moment in which each submission was read, between ${moment(run.started_at ?? run.requested_at)} and ${moment(run.ended_at ?? run.updated_at)}. What happened later comes by webhook and polling, and is proven by the next run.`,
  ]
  if (run.options.no_state === true) {
    limits.push('State was left out of this run (--no-state): lanes, quotes, offers and the submissions’ own columns were not compared.')
  }
  if (isNarrowed(run)) limits.push('The run was asked to look at some submissions only; about the others it says nothing.')
  return limits
}

function isNarrowed({ options }: ReconcileRunsTable): boolean {
  return options.submissions !== undefined || options.since !== undefined || options.active_only === true
}

function isDry(run: ReconcileRunsTable): boolean {
  return run.options.dry_run === true
}
