import { createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { withoutQueryValues, withoutSecrets } from '../../base/secret.ts'
import type { Config } from '../../config/config.ts'
import { settingsSchema } from '../../config/schema/schema.ts'
import { metaOf, unwrapped } from '../../config/schema/unwrapped.ts'
import { secretValues } from '../../config/secret-values.ts'
import { record } from '../output/schema.ts'

/** A setting in force. In a list of objects, each field is a setting, such as `accounts.default.base_url`. */
export const setting = record('Setting', {
  name: z.string().describe('path in the settings file, like `accounts.default.base_url`'),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()])).readonly()])
    .nullable()
    .describe('in its written form (`7d`, `4MiB`); null for secrets and unset values'),
  is_secret: z.boolean().describe('a secret is set; it is never shown'),
  variable: z.string().nullable().describe('its environment variable; null if only the file can set it'),
  is_default: z.boolean().describe('the value is the default'),
})

type ShownSetting = z.output<typeof setting>
type Schema = z.core.$ZodType | undefined

const HIDDEN = '[secret]'

/** @returns the settings in `config` without secrets, in the order of the settings file. */
export function shownSettings(config: Config): ShownSetting[] {
  const hide = hiderOf(config)
  const all = [...settingsIn('', { ...config, warnings: undefined, fromEnvironment: undefined }, settingsSchema, () => null)]
  return all.map(({ value, ...setting }) => ({
    ...setting,
    value:
      typeof value === 'string'
        ? hide(value)
        : Array.isArray(value)
          ? value.map((each) => (typeof each === 'string' ? hide(each) : each))
          : value,
  }))
}

/** Number of digits of a fingerprint: enough to detect a difference, but too few to confirm a guessed secret. */
const FINGERPRINT_DIGITS = 4

/**
 * @returns fingerprints of all settings, by variable or name.
 * Fingerprints show that two processes have different settings, but don't show the values.
 * @param salt must be the same for both processes.
 */
export function settingFingerprints(config: Config, salt: string): Record<string, string> {
  const comparable = { ...config, warnings: undefined, overridden: undefined, fromEnvironment: undefined }
  const all = [...settingsIn('', comparable, settingsSchema, (secret) => secret.reveal())]
  return Object.fromEntries(
    all.map(({ name, variable, value }) => {
      const hash = createHmac('sha256', salt)
        .update(JSON.stringify([name, value]))
        .digest('hex')
      return [variable ?? name, hash.slice(0, FINGERPRINT_DIGITS)]
    }),
  )
}

/** @returns a function that removes configured secrets, and the values of URL queries, from a text. */
export function hiderOf(config: Partial<Config>): (text: string) => string {
  const secrets = secretValues(config)
  return (text) => withoutSecrets(withoutQueryValues(text), secrets, HIDDEN)
}

/** Returns the text to use for a secret; null to hide it. */
type SecretOf = (secret: { readonly reveal: () => string }) => string | null

/** Lists the settings in `value`. @param schema schema of `value`; undefined if the settings file has no such key. */
function* settingsIn(name: string, value: unknown, schema: Schema, secretOf: SecretOf): Generator<ShownSetting> {
  if (value === undefined) return
  const of = { name, variable: schema === undefined ? null : (metaOf(schema).env ?? null), is_default: isDefault(schema, value) }
  if (isPlain(value)) yield { ...of, value: written(value, schema), is_secret: false }
  else if (isSecret(value)) yield { ...of, value: secretOf(value), is_secret: true }
  else if (!Array.isArray(value)) {
    for (const [key, part] of Object.entries(value as object)) {
      const known = schemaOf(schema, key)
      yield* settingsIn(`${name === '' ? '' : `${name}.`}${known?.name ?? snakeCase(key)}`, part, known?.schema, secretOf)
    }
  } else if (value.every((item) => typeof item === 'string' || typeof item === 'number'))
    yield { ...of, value: value.map((item) => written(item, elementOf(schema)) as string | number), is_secret: false }
  else {
    for (const [index, item] of value.entries()) {
      const given = (item as { readonly name?: unknown } | null)?.name
      yield* settingsIn(`${name}.${typeof given === 'string' ? given : index + 1}`, item, elementOf(schema, item), secretOf)
    }
  }
}

/**
 * @returns name and schema of the setting for a `Config` property.
 * The setting of `idleMs` is `idle_ms` if it exists, otherwise `idle`.
 */
function schemaOf(schema: Schema, property: string): { readonly name: string; readonly schema: z.core.$ZodType } | undefined {
  const inner = schema && unwrapped(schema)
  if (!(inner instanceof z.ZodObject)) return undefined
  const name = [snakeCase(property), snakeCase(property).replace(/_ms$/, '')].find((each) => Object.hasOwn(inner.shape, each))
  return name === undefined ? undefined : { name, schema: inner.shape[name] as z.core.$ZodType }
}

/** @returns the schema of a list's items. If there are alternatives, the `kind` of `item` selects one. */
function elementOf(schema: Schema, item?: unknown): Schema {
  const list = schema && unwrapped(schema)
  const element = list instanceof z.ZodArray ? unwrapped(list.element) : undefined
  if (!(element instanceof z.ZodDiscriminatedUnion)) return list instanceof z.ZodArray ? list.element : undefined
  const kind = (item as { readonly kind?: unknown } | undefined)?.kind
  return element.options.find((option) => option instanceof z.ZodObject && z.safeParse(option.shape['kind'], kind).success)
}

function isDefault(schema: Schema, value: unknown): boolean {
  if (schema === undefined || isSecret(value)) return false
  const none = z.safeParse(schema, undefined)
  return none.success && isDeepStrictEqual(none.data ?? null, value)
}

const DURATIONS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const
const SIZES = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const

/**
 * @returns a duration or size in the largest unit that gives a whole number, such as `7d`.
 * Returns other values unchanged.
 */
function written(value: string | number | boolean | null, schema: Schema): string | number | boolean | null {
  if (typeof value !== 'number' || schema === undefined || value === 0) return value
  const isSize = schema instanceof z.ZodPrefault && /iB$/.test(String(schema.def.defaultValue))
  const units = metaOf(schema).unit === 'ms' ? DURATIONS : isSize ? SIZES : []
  const [unit, of] = units.find(([, each]) => value % each === 0) ?? []
  return of === undefined ? value : `${value / of}${unit}`
}

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** @returns true for a secret: an object that returns its value only from `reveal`. */
function isSecret(value: unknown): value is { readonly reveal: () => string } {
  return typeof value === 'object' && value !== null && 'reveal' in value
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
