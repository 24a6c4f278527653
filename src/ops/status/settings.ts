import { z } from 'zod'
import { withoutQueryValues } from '../../base/secret.ts'
import type { Config } from '../../config/config.ts'
import { secretValues } from '../../config/secret-values.ts'
import { record } from '../output/schema.ts'

/** A setting in force. A list of named things has a setting for each part of each: `accounts.default.base_url`. */
export const setting = record('Setting', {
  name: z.string().describe('its place in the settings file, like `accounts.default.base_url`; times in milliseconds end in `_ms`'),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()])).readonly()])
    .nullable()
    .describe('null for a secret, and for what is not set'),
  is_secret: z.boolean().describe('a secret is there; nobody is shown it'),
})

type ShownSetting = z.output<typeof setting>

const HIDDEN = '[secret]'

/** The settings that a process goes by, without secrets, by name in the order of the file. */
export function shownSettings(config: Config): ShownSetting[] {
  const hide = hiderOf(config)
  return [...settingsIn('', { ...config, warnings: undefined })].map(({ value, ...setting }) => ({
    ...setting,
    value:
      typeof value === 'string'
        ? hide(value)
        : Array.isArray(value)
          ? value.map((each) => (typeof each === 'string' ? hide(each) : each))
          : value,
  }))
}

/** What takes every secret of the settings out of a text, and the values in the queries of its URLs. */
export function hiderOf(config: Partial<Config>): (text: string) => string {
  // The longest first: one may be a part of another.
  const secrets = secretValues(config).sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), withoutQueryValues(text))
}

function* settingsIn(name: string, value: unknown): Generator<ShownSetting> {
  if (value === undefined) return
  if (isPlain(value)) yield { name, value, is_secret: false }
  else if (isSecret(value)) yield { name, value: null, is_secret: true }
  else if (Array.isArray(value)) yield* settingsOfList(name, value)
  else {
    for (const [key, part] of Object.entries(value as object)) yield* settingsIn(name === '' ? nameOf(key) : `${name}.${nameOf(key)}`, part)
  }
}

function* settingsOfList(name: string, list: readonly unknown[]): Generator<ShownSetting> {
  if (list.every((item) => typeof item === 'string' || typeof item === 'number')) {
    yield { name, value: list as readonly (string | number)[], is_secret: false }
    return
  }
  for (const [index, item] of list.entries()) {
    const given = (item as { readonly name?: unknown } | null)?.name
    yield* settingsIn(`${name}.${typeof given === 'string' ? given : index + 1}`, item)
  }
}

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** It shows its value only to whoever asks for it by that name. */
function isSecret(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'reveal' in value
}

/** As the settings file spells it; what is measured in milliseconds ends in `_ms`. */
function nameOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
