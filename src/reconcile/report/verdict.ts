import { findingKinds, type ReconcileRunsTable } from '../../store/schema/reconcile.ts'
import type { ReportData } from './report-data.ts'
import { number, pluralize } from './words.ts'

/**
 * Result of a run:
 * - `good`: mirror and service agree
 * - `repaired`: mirror and service agree after repairs
 * - `left`: differences or other work remain
 * - `bad`: a part couldn't be checked, or the run failed
 */
export type Tone = 'good' | 'repaired' | 'left' | 'bad'

/** The outcome of a run. */
export interface Verdict {
  readonly tone: Tone
  readonly title: string
  readonly text: string
}

const VANISHED = 'The other submissions were removed, or no longer match the options of the run. '

/**
 * @returns the number of new findings except `moved`: records that the service changed after the mirror last read them.
 */
export function newFindings(run: ReconcileRunsTable): number {
  return findingKinds.reduce((total, kind) => total + run[kind], -run.moved)
}

/**
 * @returns the result of a run. Says that mirror and service agree only if the run ended, checked everything, and
 * left no difference.
 */
export function verdictOf({ run }: Pick<ReportData, 'run'>): Verdict {
  const ofAll = `${number(run.submissions_done)} of ${pluralize(run.submissions_total, 'submission')}`
  if (run.state === 'requested') {
    return { tone: 'left', title: 'This run has not started', text: '`submission-mirror serve` starts it.' }
  }
  if (run.state === 'running') {
    return {
      tone: 'left',
      title: 'This run has not ended',
      text: `So far it has compared ${ofAll}. Create the report again when the run has ended.`,
    }
  }
  if (run.unreadable > 0) {
    const failed = `${pluralize(run.unreadable, 'read')} failed, for the ${run.unreadable === 1 ? 'reason' : 'reasons'} below. Their content is unverified.`
    return { tone: 'bad', title: 'Not everything could be checked', text: `${failed} ${noteOf(run)}${differencesText(run)}` }
  }
  if (run.state === 'failed') {
    return { tone: 'bad', title: 'The run failed', text: `${noteOf(run)}The other submissions are unverified.` }
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
    const title = run.lost > 0 ? 'The mirror agrees; its change log has gaps' : 'The mirror agrees; a destination may lack changes'
    return {
      tone: 'left',
      title,
      text: `${lostText(run)}${run.undelivered === 0 ? '' : `${unreachedText(run.undelivered)}. `}${differencesText(run)}`,
    }
  }
  return { tone: 'repaired', title: 'The mirror agrees with the service again', text: `${differencesText(run)} No action required.` }
}

function agreement(run: ReconcileRunsTable): Verdict {
  if (run.submissions_total === 0) {
    return {
      tone: 'left',
      title: 'There was nothing to compare',
      text: 'No tracked submission matches the options of this run.',
    }
  }
  const text = `${pluralize(run.submissions_done, 'submission')} and ${pluralize(run.rows_compared, 'row')} were compared with the service, without new findings.`
  const known = run.known === 0 ? '' : ` ${pluralize(run.known, 'finding')} of earlier runs still ${run.known === 1 ? 'applies' : 'apply'}.`
  const moved = run.moved === 0 ? '' : ` ${pluralize(run.moved, 'record')} changed at the service after the last read; no action required.`
  return { tone: 'good', title: 'The mirror agrees with the service', text: `${text}${moved}${known}` }
}

function differencesIn(run: ReconcileRunsTable): number {
  return run.missing + run.different + run.absent
}

function differencesText(run: ReconcileRunsTable): string {
  const n = differencesIn(run)
  if (n === 0) return 'No new differences were found.'
  const found = `${pluralize(n, 'difference')} ${n === 1 ? 'was' : 'were'} found`
  if (run.repaired === n) return `${found} and repaired.`
  const left = `${found} and left unchanged`
  if (run.options.dry_run === true) return `${left}, because this was a dry run.`
  if (run.repaired === 0) return `${left}.`
  return `${found}, and ${number(run.repaired)} of them repaired.`
}

function lostText({ lost }: ReconcileRunsTable): string {
  return lost === 0 ? '' : `The change log has ${pluralize(lost, 'gap')}. `
}

/** @returns the beginning of a sentence: `3 changes may not have reached a destination`. */
export function unreachedText(n: number): string {
  return `${pluralize(n, 'change')} may not have reached a destination`
}

/** @returns the run's note as a sentence with a space at the end; empty without a note. */
function noteOf({ note }: ReconcileRunsTable): string {
  return note === null ? '' : `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.?$/, '.')} `
}
