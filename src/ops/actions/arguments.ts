import { readFileSync, statSync } from 'node:fs'
import { messageOf } from '../../base/errors.ts'
import { SAVE_AS_UTF8, utf8Text } from '../../base/utf8.ts'
import { parseDate, parseTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'

/*
 * Parsers of command-line values. Each parser adds one line to `problems` for an invalid value.
 * The command then reports all problems together.
 */

const FILE_LIMIT_BYTES = 64 * 1024 * 1024
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Parses a date-time, a date (midnight UTC), or an age before `nowMs` (`90s`, `15m`, `2h`, `7d`).
 * @returns undefined if `text` is missing; also undefined, after adding a problem, if `text` is invalid.
 */
export function parseMoment(text: string | undefined, option: string, nowMs: number, problems: string[]): TimeText | undefined {
  if (text === undefined) return undefined
  const duration = /^(\d{1,6})([smhd])$/.exec(text)
  // If an age reaches back before 1970, as `999999d` does, use 1970.
  if (duration) return timeFromMs(Math.max(0, nowMs - Number(duration[1]) * (UNITS_MS[duration[2] ?? 's'] ?? 0)))
  const date = parseDate(text)
  const time = parseTime(text) ?? (date === null ? null : parseTime(`${date}T00:00:00Z`))
  if (time !== null) return time
  problems.push(`${option}: ${JSON.stringify(text)} is not a time; give a date, a date-time, or an age such as 2h or 7d`)
  return undefined
}

export function parseCount(text: string, option: string, max: number, problems: string[]): number {
  const n = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (n >= 1 && n <= max) return n
  problems.push(`${option}: ${JSON.stringify(text)} is not a number from 1 to ${max}`)
  return 1
}

/**
 * Parses a range of change numbers: `A-B`, or one number.
 * @returns undefined if `text` is missing; also undefined, after adding a problem, if `text` is invalid.
 */
export function parseSeqRange(text: string | undefined, option: string, problems: string[]): readonly [number, number] | undefined {
  if (text === undefined) return undefined
  const [, first = '', last = first] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? []
  const range = [Number(first), Number(last)] as const
  if (first !== '' && range[0] >= 1 && range[0] <= range[1]) return range
  problems.push(`${option}: ${JSON.stringify(text)} is not a range of changes; give the first and last number, such as 100-250`)
  return undefined
}

export function parseChoice<T extends string>(text: string | undefined, option: string, choices: readonly T[], problems: string[]) {
  if (text === undefined) return undefined
  const choice = choices.find((each) => each === text)
  if (choice === undefined) problems.push(`${option}: ${JSON.stringify(text)} must be one of ${choices.join(', ')}`)
  return choice
}

export function parseSubmissionId(text: string | undefined, option: string, problems: string[]): string | undefined {
  if (text === undefined) return undefined
  const id = parseUuid(text)
  if (id === null) problems.push(`${option}: ${JSON.stringify(text)} is not a submission id (a uuid)`)
  return id ?? undefined
}

/**
 * Reads a UTF-8 text file of at most 64 MiB.
 * @param option the option that names the file, for problem texts.
 * @returns undefined, after adding a problem, if the file can't be read.
 */
export function readTextFile(path: string, problems: string[], option = '--file'): string | undefined {
  try {
    if (statSync(path).size > FILE_LIMIT_BYTES) throw new Error(`the file is larger than ${FILE_LIMIT_BYTES / 1024 / 1024} MiB. Split it`)
    const text = utf8Text(readFileSync(path))
    if (text === null) problems.push(`${option}: ${path} ${SAVE_AS_UTF8}`)
    return text ?? undefined
  } catch (error) {
    problems.push(`${option}: ${path} cannot be read: ${messageOf(error)}`)
    return undefined
  }
}
