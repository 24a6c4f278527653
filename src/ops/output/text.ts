import { printable } from '../../base/printable.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

const MOST_PROBLEMS = 50

/** @returns a text from outside the program as one line of at most `limit` characters, without control characters. */
export function printableLine(text: string, limit = 200): string {
  const line = printable(text.replace(/\s+/g, ' ').trim())
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line
}

/**
 * Wraps a text to `width` characters. Breaks lines between words, but never within backticks.
 * @param indent start of the first line.
 * @param hanging start of all other lines.
 */
export function wrapped(text: string, width: number, indent = '', hanging = indent): string {
  const lines: string[] = []
  let begin = indent
  let line = begin
  for (const [word] of text.matchAll(/\S*`[^`]*`\S*|\S+/g)) {
    if (line.length > begin.length && line.length + 1 + word.length > width) {
      lines.push(line)
      begin = hanging
      line = begin
    }
    line += line.length > begin.length ? ` ${word}` : word
  }
  return [...lines, line].map((each) => `${each}\n`).join('')
}

/** @returns a time to the second, such as `2026-11-22 08:15:00`; `-` for null. */
export function shortTime(time: TimeText | null): string {
  return time === null ? '-' : `${time.slice(0, 10)} ${time.slice(11, 19)}`
}

/** @returns the time since `time` in one unit, without "ago"; `-` for null. */
export function ago(time: TimeText | null, nowMs: number): string {
  return time === null ? '-' : spanText(nowMs - msFromTime(time))
}

/** @returns a text such as `7 min ago` or `in 3 h`; `-` for null. */
export function when(time: TimeText | null, nowMs: number): string {
  if (time === null) return '-'
  const ms = msFromTime(time) - nowMs
  return ms > 0 ? `in ${spanText(ms)}` : `${spanText(-ms)} ago`
}

/** @returns a phrase: when the next attempt is due, or, if that time has passed, how long ago it was due. */
export function nextAttemptText(time: TimeText, nowMs: number): string {
  return msFromTime(time) > nowMs ? `the next attempt is at ${shortTime(time)} UTC` : `the next attempt was due ${when(time, nowMs)}`
}

/** @returns a percentage, such as `12.5 %` for 0.125. */
export function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`
}

/** @returns a duration in one unit, such as `42 s`, `7 min`, `3 h` or `12 d`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** @returns a count with its noun, such as `1 read` or `2 reads`. */
export function pluralize(n: number, singular: string, plural = `${singular}s`): string {
  return `${n} ${n === 1 ? singular : plural}`
}

/** @returns the first 50 problems, and a line with the number of further problems. A file may have one per line. */
export function firstProblems(problems: readonly string[]): string[] {
  const more = problems.length - MOST_PROBLEMS
  return more > 0 ? [...problems.slice(0, MOST_PROBLEMS), `and ${more} more`] : [...problems]
}

/** @returns an object as text, with one field per line. */
export function fieldsText(entry: object): string {
  const fields = Object.entries(entry)
  const width = Math.max(...fields.map(([field]) => field.length))
  return fields.map(([field, value]) => `${field.padEnd(width)}  ${printable(shown(value))}`).join('\n')
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return typeof value === 'object' ? JSON.stringify(value) : printableLine(String(value), 1_000)
}

/** @returns a size such as `12 MiB` or `1.5 GiB`. */
export function sizeText(bytes: number): string {
  return bytes < 1024 ** 3 ? `${Math.round(bytes / 1024 ** 2)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}
