import { z } from 'zod'
import { settingsSchema } from '../../src/config/schema/schema.ts'
import { markOf } from '../../src/config/schema/secrets.ts'

/** Settings with every secret of the schema, found by walking it: each value is the first text that its schema accepts. */

type Schema = z.core.$ZodType
type Part = readonly [key: string, schema: Schema]

/** Candidates for a plain setting. */
const TEXTS = [
  'https://127.0.0.1:9/api/v1',
  '127.0.0.1',
  'acme',
  'false',
  '1',
  '5m',
  'a@b.test',
  '/path',
  `SHA256:${'A'.repeat(43)}`,
  'admin',
  'quotes',
  'insert',
  'quotes.underwriter',
  'insured_name',
]

export interface Planted {
  readonly tree: Readonly<Record<string, unknown>>
  readonly secrets: readonly string[]
}

/** @param make creates the nth secret; a setting that rejects it gets one of its own kind. @throws Error if a secret could not be set. */
export function plantedSettings(make: (n: number) => string): Planted {
  const planter = new Planter(make)
  const [tree] = planter.variants(settingsSchema, '') as Planted['tree'][]
  const text = JSON.stringify(tree)
  const planted = new Map([...planter.planted].filter(([secret]) => text.includes(secret)))
  const missing = [...markedIn(settingsSchema)].filter((schema) => ![...planted.values()].includes(schema))
  if (tree === undefined || missing.length > 0) throw new Error(`${missing.length} secrets of the schema are not in the settings`)
  return { tree, secrets: [...planted.keys()] }
}

class Planter {
  readonly planted = new Map<string, Schema>()
  readonly #make: (n: number) => string
  #names = 0

  constructor(make: (n: number) => string) {
    this.#make = make
  }

  /** @returns values that together contain every secret in `schema`, or a single value without one. */
  variants(schema: Schema, key: string): unknown[] {
    if (markOf(schema) !== undefined) return [this.#secret(schema, key)]
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return this.variants(schema.unwrap(), key)
    if (schema instanceof z.ZodObject) return this.#objects(schema)
    if (schema instanceof z.ZodDiscriminatedUnion) return schema.options.flatMap((option) => this.variants(option, key))
    if (schema instanceof z.ZodArray) return [this.variants(schema.element, key)]
    if (schema instanceof z.ZodRecord) return this.variants(schema.valueType, key).map((value) => ({ base: value }))
    if (schema instanceof z.ZodLiteral) return [schema.value]
    if (schema instanceof z.ZodPipe && !(schema.out instanceof z.ZodTransform)) return this.variants(schema.out, key)
    if (schema instanceof z.ZodPipe && !(schema.in instanceof z.ZodUnion)) return this.variants(schema.in, key)
    return [firstOf(schema, key, TEXTS)]
  }

  #objects(schema: z.ZodObject): unknown[] {
    const parts = Object.entries(schema.shape)
    const needed = parts.filter(([, part]) => !isLeftOut(part) || hasSecret(part))
    const all = parts.filter(([, part]) => !(part instanceof z.ZodPrefault) || hasSecret(part))
    const tries = [
      [needed],
      [all],
      needed.filter(([, part]) => isLeftOut(part)).map((without) => needed.filter((each) => each !== without)),
    ]
    for (const some of tries) {
      const found = some.flatMap((each) => this.#filled(each)).filter((value) => schema.safeParse(value).success)
      if (found.length > 0) return found
    }
    throw new Error(`no values fit ${Object.keys(schema.shape).join(', ')}`)
  }

  #filled(parts: readonly Part[]): Record<string, unknown>[] {
    const values = parts.map(([key, part]) => [key, this.variants(part, key)] as const)
    const count = Math.max(1, ...values.map(([, each]) => each.length))
    // Names are unique keys.
    const name = () => ('name' in Object.fromEntries(parts) ? { name: `n${++this.#names}` } : {})
    return Array.from({ length: count }, (_, n) => ({
      ...Object.fromEntries(values.map(([key, each]) => [key, each[n % each.length]])),
      ...name(),
    }))
  }

  #secret(schema: Schema, key: string): string {
    const secret = this.#make(this.planted.size)
    const bytes = Buffer.alloc(32, secret).toString('base64')
    const pem = `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes}\n-----END OPENSSH PRIVATE KEY-----`
    const hidden = `'https://127.0.0.1:9/in?sig=${secret}'`
    const texts =
      markOf(schema)?.partsOf === null
        ? [secret, bytes, pem]
        : [hidden, `postgres://u:${secret}@127.0.0.1:9/d`, `http://u:${secret}@127.0.0.1:9`, hidden.replaceAll("'", '')]
    const text = firstOf(schema, key, texts)
    this.planted.set(text.includes(secret) ? secret : bytes, schema)
    return text
  }
}

function firstOf(schema: Schema, key: string, texts: readonly string[]): string {
  const text = texts.find((each) => (schema as z.ZodType).safeParse(each).success)
  if (text === undefined) throw new Error(`no text fits ${key}`)
  return text
}

function isLeftOut(schema: Schema): boolean {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault
}

function hasSecret(schema: Schema): boolean {
  return markedIn(schema).next().done === false
}

function* markedIn(schema: Schema): Generator<Schema> {
  if (markOf(schema) !== undefined) yield schema
  else if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) yield* markedIn(schema.unwrap())
  else if (schema instanceof z.ZodObject) for (const part of Object.values(schema.shape)) yield* markedIn(part)
  else if (schema instanceof z.ZodUnion) for (const option of schema.options) yield* markedIn(option)
  else if (schema instanceof z.ZodArray) yield* markedIn(schema.element)
  else if (schema instanceof z.ZodRecord) yield* markedIn(schema.valueType)
  else if (schema instanceof z.ZodPipe) yield* markedIn(schema.out instanceof z.ZodTransform ? schema.in : schema.out)
}
