import { z } from 'zod'
import { settingsSchema } from '../../src/config/schema/schema.ts'
import { markOf } from '../../src/config/schema/secrets.ts'

/*
 * Settings in which every secret of the schema is set. The schema is walked for them, so that a new one needs no line here: each value is the
 * first of some texts that its schema takes.
 */

type Schema = z.core.$ZodType
type Part = readonly [key: string, schema: Schema]

/** What a plain setting may be. */
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
]

export interface Planted {
  /** As a settings file holds it. */
  readonly tree: Readonly<Record<string, unknown>>
  /** The secrets, as they stand in it. */
  readonly secrets: readonly string[]
}

/**
 * @param make the nth secret; where a setting takes no such text it gets one of its own kind.
 * @throws Error when a secret of the schema could not be set.
 */
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
  /** Which secret was made for which schema, also where it did not fit in. */
  readonly planted = new Map<string, Schema>()
  readonly #make: (n: number) => string
  #names = 0

  constructor(make: (n: number) => string) {
    this.#make = make
  }

  /** @returns values that together hold every secret in `schema`; a single one when it holds none. */
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

  /** With what it needs and its secrets; if that does not fit together, with all that it may have, else with a secret less. */
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
    // Names are keys, so that no two may be the same.
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

/** The schemas of all secrets. */
function* markedIn(schema: Schema): Generator<Schema> {
  if (markOf(schema) !== undefined) yield schema
  else if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) yield* markedIn(schema.unwrap())
  else if (schema instanceof z.ZodObject) for (const part of Object.values(schema.shape)) yield* markedIn(part)
  else if (schema instanceof z.ZodUnion) for (const option of schema.options) yield* markedIn(option)
  else if (schema instanceof z.ZodArray) yield* markedIn(schema.element)
  else if (schema instanceof z.ZodRecord) yield* markedIn(schema.valueType)
  else if (schema instanceof z.ZodPipe) yield* markedIn(schema.out instanceof z.ZodTransform ? schema.in : schema.out)
}
