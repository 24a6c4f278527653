import type { z } from 'zod'
import type { Surprise } from '../../../model/interface-drift.ts'
import { shapeOf } from '../../../upstream/drift/shape.ts'
import { plainName, surprisesIn } from '../../../upstream/drift/surprises.ts'

/** What is known of one row of the specification after reading. */
export interface Verdict {
  readonly result: 'agrees' | 'differs' | 'untold'
  /** What was seen, or the one reason why it could not be told. Never a value of the service that could be personal. */
  readonly text: string
  /** What the service sends beyond the specification: additive changes, which differ from nothing. */
  readonly more: readonly string[]
}

export const agrees = (text: string, more: readonly string[] = []): Verdict => ({ result: 'agrees', text, more })
export const differs = (text: string, more: readonly string[] = []): Verdict => ({ result: 'differs', text, more })
export const untold = (text: string): Verdict => ({ result: 'untold', text, more: [] })

/** Why a row could not be told, thrown from wherever that becomes known. */
export class NotTold extends Error {}

/** How an answer stands to the schema of the specification. */
export interface Compared {
  readonly problems: readonly string[]
  readonly more: readonly string[]
}

const MOST_TOLD = 5

/** Compares an answer: missing or wrongly typed fields are problems, fields and values that the specification does not name are more. */
export function compare(schema: z.ZodType, json: unknown): Compared {
  const issues = schema.safeParse(json).error?.issues ?? []
  const surprises = surprisesIn(shapeOf(schema), json)
  const [faults, beyond] = [surprises.filter(isFault), surprises.filter((each) => !isFault(each))]
  const wrong = faults.map(({ path, kind, type }) => `${path || 'the answer'} is ${kind === 'missing' ? 'missing' : type}`)
  const others = issues.map(({ path, message }) => [pathText(path), message] as const)
  return {
    problems: unique([
      ...wrong,
      ...others.filter(([path]) => !wrong.some((line) => line.startsWith(`${path} is `))).map((one) => one.join(': ')),
    ]),
    more: unique(beyond.map(({ path, kind }) => (kind === 'value' ? `${path} (value)` : path))),
  }
}

function isFault({ kind }: Surprise): boolean {
  return kind === 'type' || kind === 'missing'
}

/** @returns agreement with what was seen, or the first problems. */
export function judged({ problems, more }: Compared, seen: string): Verdict {
  if (problems.length === 0) return agrees(seen, more)
  const rest = problems.length > MOST_TOLD ? `, and ${problems.length - MOST_TOLD} more` : ''
  return differs(`${problems.slice(0, MOST_TOLD).join('; ')}${rest}`, more)
}

export function together(parts: readonly Compared[]): Compared {
  return { problems: unique(parts.flatMap(({ problems }) => problems)), more: unique(parts.flatMap(({ more }) => more)) }
}

function pathText(path: readonly PropertyKey[]): string {
  const stepText = (step: PropertyKey) => (plainName(String(step)) === '{}' ? '{}' : `.${String(step)}`)
  const text = path.map((step) => (typeof step === 'number' ? '[]' : stepText(step))).join('')
  return text === '' ? 'the answer' : text.replace(/^\./, '')
}

function unique(lines: readonly string[]): string[] {
  return [...new Set(lines)]
}
