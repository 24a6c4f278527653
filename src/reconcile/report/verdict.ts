import { findingKinds, type ReconcileRunsTable } from '../../store/schema/reconcile.ts'
import type { ReportData } from './report-data.ts'
import { number, pluralize } from './words.ts'

/** `good`: mirror and service agree; `repaired`: they do now; `left`: differences or work remain; `bad`: something could not be proven. */
export type Tone = 'good' | 'repaired' | 'left' | 'bad'

/** The outcome of a run, for someone who reads nothing else. */
export interface Verdict {
  readonly tone: Tone
  readonly title: string
  readonly text: string
}

/** Submissions are counted when a run begins; some may be gone when their turn comes. */
const VANISHED = 'It ended regularly: when their turn came, the others were gone or no longer within the options of the run. '

/** @returns how many findings are new to the run. Rows that moved after their last read don't count. */
export function newFindings(run: ReconcileRunsTable): number {
  return findingKinds.reduce((total, kind) => total + run[kind], -run.moved)
}

/** The outcome of a run. Only a run that ended, checked everything and left nothing may say that the mirror agrees. */
export function verdictOf({ run }: Pick<ReportData, 'run'>): Verdict {
  const ofAll = `${number(run.submissions_done)} of ${pluralize(run.submissions_total, 'submission')}`
  if (run.state === 'requested') {
    return { tone: 'left', title: 'This run has not started', text: 'A process that runs `submission-mirror serve` starts it.' }
  }
  if (run.state === 'running') {
    return {
      tone: 'left',
      title: 'This run has not ended',
      text: `So far it has compared ${ofAll}. Make the report again when it has ended.`,
    }
  }
  if (run.unreadable > 0) {
    const [reasons, them] = run.unreadable === 1 ? ['reason', 'it'] : ['reasons', 'these']
    const failed = `${pluralize(run.unreadable, 'thing')} could not be read, for the ${reasons} below. About ${them} this report proves nothing.`
    return { tone: 'bad', title: 'Not everything could be checked', text: `${failed} ${noteOf(run)}${differencesText(run)}` }
  }
  if (run.state === 'failed') {
    return { tone: 'bad', title: 'The run failed', text: `${noteOf(run)}What it did not reach is not proven.` }
  }
  if (run.started_at === null) return { tone: 'left', title: 'This run did not start', text: noteOf(run).trimEnd() }
  if (run.state !== 'done' || run.submissions_done < run.submissions_total) {
    const why = run.state === 'done' ? VANISHED : noteOf(run)
    return { tone: 'left', title: `${ofAll} compared`, text: `${why}${differencesText(run)}` }
  }
  if (newFindings(run) === 0) return agreement(run)
  const differences = differencesIn(run)
  if (run.repaired < differences) return { tone: 'left', title: 'Differences were found and left', text: differencesText(run) }
  if (run.lost > 0 || run.undelivered > 0) {
    const title = run.lost > 0 ? 'The mirror agrees; its change log has holes' : 'The mirror agrees; a destination may lack changes'
    return { tone: 'left', title, text: `${lostText(run)}${undeliveredText(run)}${differencesText(run)}` }
  }
  return { tone: 'repaired', title: 'The mirror agrees with the service again', text: `${differencesText(run)} Nothing is left to do.` }
}

function agreement(run: ReconcileRunsTable): Verdict {
  if (run.submissions_total === 0) {
    return {
      tone: 'left',
      title: 'There was nothing to compare',
      text: 'No tracked submission was within what this run was asked to look at.',
    }
  }
  const text = `${pluralize(run.submissions_done, 'submission')} and ${pluralize(run.rows_compared, 'row')} were compared with what the service shows; nothing new was found.`
  const known = run.known === 0 ? '' : ` ${pluralize(run.known, 'finding')} of earlier runs still ${run.known === 1 ? 'stands' : 'stand'}.`
  const moved = run.moved === 0 ? '' : ` ${pluralize(run.moved, 'record')} changed at the service after the last read; no action required.`
  return { tone: 'good', title: 'The mirror agrees with the service', text: `${text}${moved}${known}` }
}

/** Findings that are about what the mirror holds. */
function differencesIn(run: ReconcileRunsTable): number {
  return run.missing + run.different + run.absent
}

function differencesText(run: ReconcileRunsTable): string {
  const n = differencesIn(run)
  if (n === 0) return 'Between mirror and service nothing new was found.'
  const found = `${pluralize(n, 'difference')} ${n === 1 ? 'was' : 'were'} found`
  if (run.repaired === n) return `${found} and repaired.`
  const left = `${found} and left as ${n === 1 ? 'it is' : 'they are'}`
  if (run.options.dry_run === true) return `${left}, because this was a dry run.`
  if (run.repaired === 0) return `${left}.`
  return `${found}, and ${number(run.repaired)} of them repaired.`
}

function lostText({ lost }: ReconcileRunsTable): string {
  return lost === 0 ? '' : `Changes are missing from the log in ${pluralize(lost, 'place')}. `
}

/** @returns the beginning of a sentence about undelivered changes, of which some may have arrived. */
export function unreachedText(n: number): string {
  return `${pluralize(n, 'change')} ${n === 1 ? 'is' : 'are'} not known to have reached a destination that should have ${n === 1 ? 'it' : 'them'}`
}

function undeliveredText({ undelivered: n }: ReconcileRunsTable): string {
  return n === 0 ? '' : `${unreachedText(n)}. `
}

/** The run's note as a sentence with a space after it: why it ended early and where the next one begins. Empty without a note. */
function noteOf({ note }: ReconcileRunsTable): string {
  return note === null ? '' : `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.?$/, '.')} `
}
