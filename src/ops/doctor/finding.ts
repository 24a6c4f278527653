import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import type { Condition } from '../alarms/condition.ts'
import type { ShowMend } from '../health/mend.ts'
import { withAdvice } from '../health/rules.ts'
import { printableLine } from '../output/text.ts'

/** The result of one check, in a sentence: what is right, what is wrong and what to do, or what was not checked and why. */
export interface Finding {
  readonly about: string
  /** null: not checked. */
  readonly ok: boolean | null
  /** Whether the command fails for it: something is wrong, or should have been checked and could not be. */
  readonly fails: boolean
  readonly text: string
}

/** Why something could not be checked. */
export const NO_DATABASE = 'the database cannot be used'

/** The mark of a finding before its text. */
export function markOf({ ok }: Pick<Finding, 'ok'>): '✓' | '✗' | '–' {
  return ok === null ? '–' : ok ? '✓' : '✗'
}

export interface DoctorParts {
  readonly config: Config
  /** null when it cannot be used; everything else is checked all the same. */
  readonly db: Db | null
  readonly clock: Clock
  readonly log: Log
  readonly showMend: ShowMend
  readonly host: { readonly signal: AbortSignal }
  /** By account, how far the clock of its service is ahead of ours, in milliseconds: the checks of the accounts fill it. */
  readonly serviceClocks: Map<string, number>
}

export function good(about: string, text: string): Finding {
  return { about, ok: true, fails: false, text: printableLine(text, 500) }
}

export function bad(about: string, text: string): Finding {
  return { about, ok: false, fails: true, text: printableLine(text, 500) }
}

/** What an alarm is about, and what to do. */
export function badCondition(about: string, { name, text }: Pick<Condition, 'name' | 'text'>): Finding {
  return bad(about, withAdvice(name, text))
}

/** Something that should have been checked and could not be. @param text what it is, and why it could not be checked. */
export function unchecked(about: string, text: string): Finding {
  return { about, ok: null, fails: true, text: printableLine(`not checked: ${text}`, 500) }
}

/** Something that cannot be checked with these settings, or from here, or not yet. @param text what it is, and why. */
export function skipped(about: string, text: string): Finding {
  return { about, ok: null, fails: false, text: printableLine(`not checked: ${text}`, 500) }
}
