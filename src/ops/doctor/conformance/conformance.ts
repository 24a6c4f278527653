import { messageOf } from '../../../base/errors.ts'
import { rows } from '../../../client/openapi/rows.ts'
import type { AccountConfig } from '../../../config/config.ts'
import { printableLine } from '../../output/text.ts'
import { openForDoctor } from '../database.ts'
import { bad, type DoctorParts, type Finding } from '../finding.ts'
import { checkOf } from './checks.ts'
import { Desk } from './desk.ts'
import { CannotCompare, ComparedService } from './service.ts'
import { NotTold, untold, type Verdict } from './verdict.ts'

/** What `doctor --conformance --json` prints of a row. `ok` is false when it differs, null when it could not be told. */
export interface ConformanceFinding extends Finding {
  /** The id of the row; null when no row could be told, which `text` explains. */
  readonly row: string | null
  /** The line of the specification, in short. */
  readonly spec: string
  readonly result: Verdict['result'] | 'failed'
  /** What the service sends there beyond the specification. */
  readonly more: readonly string[]
}

export interface ConformanceOptions {
  readonly account: AccountConfig
  /** A submission to look at; null for some that the mirror knows. */
  readonly submission: string | null
}

const LONGEST_TEXT = 500

/**
 * Compares the service of an account with the specification, row by row, by GET requests and token exchanges alone. It needs no `serve`, and
 * of the database only the ids that it knows.
 */
export async function* compareService(
  p: Omit<DoctorParts, 'db' | 'serviceClocks' | 'showMend'>,
  { account, submission }: ConformanceOptions,
): AsyncGenerator<ConformanceFinding> {
  const about = `account ${account.name}`
  const opened = submission === null ? await openForDoctor(p.config, p) : null
  const unusable = opened !== null && 'about' in opened ? opened.text : null
  const db = opened === null || 'about' in opened ? null : opened
  const service = new ComparedService(p.config, account, p.clock, p.host.signal)
  try {
    await service.signIn()
    const desk = new Desk({ service, account, db, unusable, submission })
    for (const row of rows) {
      const { result, text, more } = await verdictOf(desk, row, p.host.signal)
      yield {
        about,
        ok: result === 'untold' ? null : result === 'agrees',
        fails: result === 'differs',
        row: row.id,
        spec: row.text,
        result,
        more: more.map((one) => printableLine(one)),
        text: printableLine(text, LONGEST_TEXT),
      }
    }
  } catch (error) {
    if (!(error instanceof CannotCompare)) throw error
    yield { ...bad(about, error.message), row: null, spec: '', result: 'failed', more: [] }
  } finally {
    await service.close()
    await db?.close()
  }
}

async function verdictOf(desk: Desk, row: (typeof rows)[number], signal: AbortSignal): Promise<Verdict> {
  const check = checkOf(row)
  if (typeof check === 'string') return untold(check)
  try {
    return await check(desk)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof NotTold) return untold(error.message)
    return untold(`it could not be looked at: ${messageOf(error)}`)
  }
}
