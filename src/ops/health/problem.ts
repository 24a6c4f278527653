import type { TimeText } from '../../model/time.ts'
import type { AlarmKey, AlarmRow } from '../../store/operators/alarms.ts'
import { printableLine } from '../output/text.ts'
import { type Fix, fixText, type ShowFix } from './fix.ts'
import { type About, type AlarmName, alarms, by, declared, isAlarm, type ProblemName, runbookOf } from './problems.ts'

/** Level of a condition. With `between`, a firing alarm keeps firing, and no alarm starts. */
export type Level = 'on' | 'between' | 'off'

export interface Problem extends About {
  /** A `ProblemName`. A stored alarm of a newer release may have a name that this release doesn't know. */
  readonly name: string
  readonly level: Level
  /** When the problem started; null if unknown. */
  readonly since: TimeText | null
  /** Number of affected objects. */
  readonly count: number
  /** What happened, and to what. If `headline` is undefined, the text also says what to do. */
  readonly text: string
  /** Short form of `text`. If undefined, lists show the title from `problems.ts`. */
  readonly headline?: string
  /** What to do before using `fix`. Used only together with `headline`. */
  readonly advice?: string | null
  /** How to fix the problem. If undefined, the fix from `problems.ts` applies. */
  readonly fix?: Fix
  /** Id of the affected reconcile run. */
  readonly runId?: string
}

type Details = Partial<Omit<Problem, 'name' | 'level' | 'text' | 'headline'>>

const nothing = { account: '', destination: '', since: null, count: 1 }

/**
 * Creates a problem without a headline. Its text is `text`, followed by the advice in `problems.ts`.
 * @param on the level; true means `on`, false means `off`.
 */
export function problem(name: AlarmName, details: Details, on: Level | boolean, text: string): Problem {
  const { advice } = declared(name)
  const level = typeof on === 'string' ? on : on ? 'on' : 'off'
  return { ...nothing, ...details, name, level, text: advice === undefined ? text : `${text}; ${advice}` }
}

/**
 * Creates a problem of level `on`, with a headline and a reason.
 * `details` may override the advice and the fix that `problems.ts` declares.
 */
export function stated(name: ProblemName, details: Details, headline: string, reason: string | null = null): Problem {
  const text = printableLine(reason === null ? headline : `${headline}: ${reason}`, 600)
  return { ...nothing, advice: declared(name).advice ?? null, ...details, name, level: 'on', headline, text }
}

export function problemOf({ name, account, destination, since, text }: AlarmRow): Problem {
  return { ...nothing, name, account, destination, level: 'on', since, text }
}

/** @returns `on` for at least `high`, `off` for at most `low`, else `between`. */
export function levelOf(value: number, low: number, high: number): Level {
  if (value >= high) return 'on'
  return value <= low ? 'off' : 'between'
}

export function keyOf({ name, account, destination }: AlarmKey): string {
  return `${name} ${account} ${destination}`
}

export function headlineOf({ name, account, destination, headline }: Problem): string {
  if (headline !== undefined) return headline
  const title = isAlarm(name) ? alarms[name].title : null
  const what = title === null ? `${name}, an alarm of a newer release, is firing` : `${title.charAt(0).toLowerCase()}${title.slice(1)}`
  return `${what}${destination !== '' ? ` (destination ${destination})` : account !== '' ? ` (account ${account})` : ''}`
}

/** A problem as lists show it. `kind` is the problem's name. */
export interface Issue {
  readonly kind: string
  readonly what: string
  readonly since: TimeText | null
  readonly count: number
  readonly fix: Fix
}

export function issueOf(p: Problem): Issue {
  const { name: kind, since, count, text } = p
  return { kind, what: printableLine(text, 600), since, count, fix: fixOf(p) }
}

/** @returns a text for alarms and `doctor`: what happened, and what to do. */
export async function adviceText(p: Problem, showFix: ShowFix): Promise<string> {
  if (p.headline === undefined) return p.text
  return `${p.text}; ${p.advice ? `${p.advice} ` : ''}${fixText(await showFix(fixOf(p)))}`
}

function fixOf({ name, account, destination, fix }: Problem): Fix {
  const { fix: declaredFix, runbook } = declared(name)
  const other = runbook === undefined ? by('alarm.list') : { runbook: runbookOf(name as ProblemName) }
  return fix ?? declaredFix?.({ account, destination }) ?? other
}
