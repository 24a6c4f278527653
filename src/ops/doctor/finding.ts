import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { printableLine } from '../output/text.ts'

/** The result of one check, in a sentence: what is right, or what is wrong and what to do. */
export interface Finding {
  readonly about: string
  readonly ok: boolean
  readonly text: string
}

export interface DoctorParts {
  readonly config: Config
  /** null when it cannot be used; everything else is checked all the same. */
  readonly db: Db | null
  readonly clock: Clock
  readonly log: Log
  readonly host: { readonly signal: AbortSignal }
}

export function good(about: string, text: string): Finding {
  return { about, ok: true, text: printableLine(text, 500) }
}

export function bad(about: string, text: string): Finding {
  return { about, ok: false, text: printableLine(text, 500) }
}
