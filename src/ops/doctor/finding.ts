import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import type { ShowFix } from '../health/fix.ts'
import { printableLine } from '../output/text.ts'

/** The result of one check, in a sentence: what is right, what is wrong and what to do, or what was not checked and why. */
export interface Finding {
  readonly about: string
  /** null: not checked. */
  readonly ok: boolean | null
  /** Whether the finding fails the command: a problem, or a required check that could not run. */
  readonly fails: boolean
  readonly text: string
}

export const NO_DATABASE = 'the database cannot be used'

export function markOf({ ok }: Pick<Finding, 'ok'>): '✓' | '✗' | '–' {
  return ok === null ? '–' : ok ? '✓' : '✗'
}

export interface DoctorParts {
  readonly config: Config
  /** null if unusable; the other checks continue. */
  readonly db: Db | null
  readonly clock: Clock
  readonly log: Log
  readonly showFix: ShowFix
  readonly host: { readonly signal: AbortSignal }
  /** By account, how far the service's clock is ahead of ours, in ms. Filled by the account checks. */
  readonly serviceClocks: Map<string, number>
}

export function good(about: string, text: string): Finding {
  return { about, ok: true, fails: false, text: printableLine(text, 500) }
}

export function bad(about: string, text: string): Finding {
  return { about, ok: false, fails: true, text: printableLine(text, 500) }
}

/** A required check that failed to run. @param text the check, and why it failed. */
export function unchecked(about: string, text: string): Finding {
  return { about, ok: null, fails: true, text: printableLine(`not checked: ${text}`, 500) }
}

/** A check that is impossible with these settings, here, or yet. @param text the check, and why. */
export function skipped(about: string, text: string): Finding {
  return { about, ok: null, fails: false, text: printableLine(`not checked: ${text}`, 500) }
}
