import { type ConditionName, conditionOf, chosenConditions as statuses } from '../../client/openapi/conditions.ts'
import { Prng } from '../world/prng.ts'
import { numbers, words } from './unshown-choices.ts'

type NumberName = keyof typeof numbers
type WordName = keyof typeof words
type WordOf<N extends WordName> = (typeof words)[N]['values'][number]

/** Chosen values by name of the choice. */
export type UnshownInput = Readonly<Record<string, string | number>>

/** A choice as listed by `GET /_sandbox/variants`. */
export interface Choice {
  readonly name: string
  /** Place in the specification that leaves the choice open. */
  readonly row: string
  readonly choice: string | number | boolean | readonly number[]
  /** Option that sets the choice. */
  readonly option: string
  /** Possible values except the current value, or a description of the possible values. */
  readonly alternatives: readonly (string | number | boolean)[]
}

const MAX_NUMBER = 1_000_000_000

/**
 * Values of all choices that the specification leaves open. To add a choice, add a line in `unshown-choices.ts`.
 * For the HTTP status of an error, add a line in `client/openapi/conditions.ts` instead.
 */
export class Unshown {
  readonly #values = new Map<string, string | number>()

  /** @throws RangeError if a name or value is unknown. */
  constructor(input: UnshownInput = {}) {
    for (const [name, { status }] of Object.entries(statuses)) this.#values.set(name, status)
    for (const [name, { value }] of Object.entries(numbers)) this.#values.set(name, value)
    for (const [name, { values }] of Object.entries(words)) this.#values.set(name, values[0])
    for (const [name, value] of Object.entries(input)) this.#values.set(name, checked(name, value))
  }

  /**
   * @returns the HTTP status of an error. If the specification leaves the status open, returns the chosen status.
   */
  status(name: ConditionName): number {
    return (this.#values.get(name) as number | undefined) ?? conditionOf(name).status
  }

  /** @returns a limit or a time. The name of a time ends with its unit. */
  number(name: NumberName): number {
    return this.#values.get(name) as number
  }

  word<N extends WordName>(name: N): WordOf<N> {
    return this.#values.get(name) as WordOf<N>
  }

  list(): Choice[] {
    const choice = (name: string, row: string, alternatives: Choice['alternatives']): Choice => {
      const value = this.#values.get(name) as string | number
      return { name, row, choice: value, option: `--variants ${name}=…`, alternatives: alternatives.filter((other) => other !== value) }
    }
    return [
      ...Object.entries(statuses).map(([name, { row, status, others }]) => choice(name, row, [status, ...others])),
      ...Object.entries(numbers).map(([name, { row }]) => choice(name, row, [`a whole number from 0 to ${MAX_NUMBER}`])),
      ...Object.entries(words).map(([name, { row, values }]) => choice(name, row, values)),
    ]
  }
}

function checked(name: string, value: string | number): string | number {
  const isStatus = Object.hasOwn(statuses, name)
  if (isStatus || Object.hasOwn(numbers, name)) {
    const [min, max] = isStatus ? [400, 599] : [0, MAX_NUMBER]
    const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    throw new RangeError(`${name} must be a whole number from ${min} to ${max}, not ${value}`)
  }
  if (!Object.hasOwn(words, name)) throw new RangeError(`there is no choice ${name}; GET /_sandbox/variants lists all`)
  const { values } = words[name as WordName]
  if (values.some((other) => other === value)) return value
  throw new RangeError(`${name} must be ${values.join(' or ')}, not ${value}`)
}

/** @returns random values for all choices except numbers. The same seed gives the same values. */
export function mixOf(seed: string): UnshownInput {
  const prng = new Prng(`mix ${seed}`)
  return Object.fromEntries([
    ...Object.entries(statuses).map(([name, { status, others }]) => [name, prng.fork(name).pick([status, ...others])] as const),
    ...Object.entries(words).map(([name, { values }]) => [name, prng.fork(name).pick<string>(values)] as const),
  ])
}

const MIX = 'mix'

/**
 * Reads the text of `--variants`, such as `name=value,name=value`. With `mix=SEED`, choices that the text doesn't name
 * are random, except numbers.
 * @throws RangeError if a part has no `=`, or a name or value is unknown.
 */
export function parseUnshown(text: string): UnshownInput {
  const parts = text.split(',').map((part) => part.trim())
  const { [MIX]: seed, ...named } = Object.fromEntries(
    parts.flatMap((part) => {
      if (part === '') return []
      const at = part.indexOf('=')
      if (at < 1) throw new RangeError(`${part} must be name=value`)
      return [[part.slice(0, at).trim(), part.slice(at + 1).trim()]]
    }),
  )
  const input = { ...(seed !== undefined && mixOf(seed)), ...named }
  new Unshown(input)
  return input
}
