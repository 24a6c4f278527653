import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import type { ShowFix } from '../health/fix.ts'
import { printableLine } from '../output/text.ts'

/** Result of one check. `text` says what is right; or what is wrong and how to fix it; or why the check did not run. */
export interface Finding {
  readonly about: string
  /** null if the check did not run. */
  readonly ok: boolean | null
  /** True if the command must fail: there is a problem, or a required check could not run. */
  readonly fails: boolean
  readonly text: string
}

export const NO_DATABASE = 'the database cannot be used'

export function markOf({ ok }: Pick<Finding, 'ok'>): '✓' | '✗' | '–' {
  return ok === null ? '–' : ok ? '✓' : '✗'
}

export interface DoctorParts {
  readonly config: Config
  /** null if the database can't be used. The other checks continue. */
  readonly db: Db | null
  readonly clock: Clock
  readonly log: Log
  readonly showFix: ShowFix
  readonly host: { readonly signal: AbortSignal }
  /** How far each service's clock is ahead of ours in ms, by account. The account checks fill this map. */
  readonly serviceClocks: Map<string, number>
}

export function good(about: string, text: string): Finding {
  return { about, ok: true, fails: false, text: printableLine(text, 500) }
}

export function bad(about: string, text: string): Finding {
  return { about, ok: false, fails: true, text: printableLine(text, 500) }
}

/**
 * @returns a finding about a required check that could not run. This finding makes the command fail.
 * @param text the check, and the reason.
 */
export function unchecked(about: string, text: string): Finding {
  return { about, ok: null, fails: true, text: printableLine(`not checked: ${text}`, 500) }
}

/**
 * @returns a finding about an optional check that could not run. This finding doesn't make the command fail.
 * @param text the check, and the reason.
 * @param start start of the finding's text; empty if `text` already says that the check did not run.
 */
export function skipped(about: string, text: string, start = 'not checked: '): Finding {
  return { about, ok: null, fails: false, text: printableLine(`${start}${text}`, 500) }
}
