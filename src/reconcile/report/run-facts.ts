import type { Json } from '../../model/json.ts'
import type { ReconcileRunsTable } from '../../store/schema/reconcile.ts'
import type { Cell } from './document.ts'
import type { ReportData } from './report-data.ts'
import { shownText } from './shown-value.ts'
import { duration, moment, number, viaName } from './words.ts'

type Fact = { readonly name: string; readonly value: Cell }

const exitMeanings: Readonly<Record<number, string>> = {
  0: 'done: no findings, or all repaired',
  1: 'something could not be checked, or the run failed',
  3: 'findings remain',
  4: 'not done: another run was active, or the budget ended',
}

const states: Readonly<Record<string, string>> = {
  requested: 'waiting for a process',
  running: 'running',
  done: 'done',
  budget: 'ended because its budget was used up',
  failed: 'failed',
  stopped: 'stopped',
}

/** @returns the details that are needed to find or repeat a run. */
export function runFacts(data: ReportData): Fact[] {
  const { run, mirror } = data
  return [
    { name: 'Run', value: { code: run.run_id } },
    { name: 'Account', value: { code: run.account } },
    { name: 'Requested by', value: requestedBy(run) },
    { name: 'Options', value: optionsText(run.options) },
    { name: 'Requested at', value: moment(run.requested_at) },
    { name: 'Started', value: run.started_at === null ? 'not yet' : moment(run.started_at) },
    { name: 'Ended', value: endedText(run) },
    { name: 'State', value: `${states[run.state] ?? run.state}${run.note === null ? '' : `: ${shownText(run.note, 300)}`}` },
    { name: 'Exit code', value: run.exit_code === null ? 'none yet' : `${run.exit_code}${exitText(run.exit_code)}` },
    { name: 'Submissions', value: submissionsText(data) },
    {
      name: 'First seen',
      value: mirror.trackedVia.map(({ via, submissions }) => `${viaName(via)}: ${number(submissions)}`).join(' · ') || 'none',
    },
    { name: 'Mirror', value: `${mirror.database}, schema version ${mirror.schemaVersion}` },
    {
      name: 'Change log',
      value: `seq ${mirror.firstSeq} to ${mirror.lastSeq}, log epoch ${mirror.logEpoch} (at the time of this report)`,
    },
  ]
}

function endedText({ started_at, ended_at }: ReconcileRunsTable): string {
  if (ended_at === null) return 'not yet'
  return started_at === null ? moment(ended_at) : `${moment(ended_at)}, after ${duration(started_at, ended_at)}`
}

function exitText(code: number): string {
  const meaning = exitMeanings[code]
  return meaning === undefined ? '' : ` (${meaning})`
}

function requestedBy({ requested_by, slot }: ReconcileRunsTable): string {
  if (requested_by === 'command') return 'an operator, by a command'
  if (requested_by === 'cron') return slot === null ? 'the schedule (RECONCILE_CRON)' : `the schedule (RECONCILE_CRON), for ${moment(slot)}`
  if (requested_by.startsWith('admin:')) return `an operator, by the admin API, with the token “${shownText(requested_by.slice(6), 80)}”`
  return shownText(requested_by, 80)
}

function submissionsText({ run, mirror }: ReportData): string {
  const compared = `${number(run.submissions_done)} of ${number(run.submissions_total)} matching the options compared`
  const unreachable = mirror.unreachable === 0 ? '' : `, ${number(mirror.unreachable)} of them currently unreachable at the service`
  return `${compared}; the mirror knows ${number(mirror.submissions)}${unreachable}`
}

function optionsText(options: Readonly<Record<string, Json>>): string {
  const set = Object.entries(options).filter(
    ([, value]) => value !== null && value !== false && !(Array.isArray(value) && value.length === 0),
  )
  const texts = set.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${valueText(value)}`)
  return texts.length === 0 ? 'none: every tracked submission, feeds and state' : shownText(texts.join(' · '), 600)
}

function valueText(value: Json): string {
  if (value === true) return 'yes'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
