import { z } from 'zod'
import { editDistance, nearest } from '../../base/near-names.ts'
import type { Path } from '../schema/reading.ts'
import { settingsSchema } from '../schema/schema.ts'
import { metaOf, unwrapped } from '../schema/unwrapped.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Setting {
  readonly env: string
  /** Path in the settings file. */
  readonly path: Path
  readonly schema: z.core.$ZodType
  /** True if `<env>_FILE` can name a file with the value. */
  readonly file?: true | undefined
  /**
   * True if the same variable in lower case, such as `https_proxy`, overrides this variable. Other
   * programs do the same.
   */
  readonly lowerCase?: true | undefined
}

/** Variables that have no key in the settings file. */
export const outsideVariables = [
  { env: 'CONFIG_FILE', description: 'path of the YAML file' },
  {
    env: 'NODE_EXTRA_CA_CERTS',
    description: 'file of additional trusted certificates (PEM); Node reads it at startup',
  },
]

export const settings: readonly Setting[] = [...settingsIn(settingsSchema, [])]

function* settingsIn(schema: z.core.$ZodType, path: Path): Generator<Setting> {
  const { env, file, lowerCase } = metaOf(schema)
  if (env !== undefined) yield { env, path, schema, file, lowerCase }
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodObject) for (const [key, part] of Object.entries(inner.shape)) yield* settingsIn(part, [...path, key])
  else if (inner instanceof z.ZodArray) yield* settingsIn(inner.element, [...path, 0])
}

/**
 * An unknown variable with one of these prefixes is reported as a mistake. Other variables may belong
 * to other programs.
 */
const OWN_PREFIX = /^(?:BROKER_API|WEBHOOK|POLL|REPLAY|RECONCILE|RETENTION|CHANGES_RETENTION|UPSTREAM|OPS|DATABASE|DOCUMENTS?|PROTECT)_/
/** Matches variables that Kubernetes sets in every container if there is a service named `ops` or `database`. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP)(?:_\w+)?$|_PORT$/

const known = [
  ...settings.flatMap(({ env, file, lowerCase }) => [env, ...(file ? [`${env}_FILE`] : []), ...(lowerCase ? [env.toLowerCase()] : [])]),
  ...outsideVariables.map(({ env }) => env),
]

/**
 * @returns one problem for each unknown variable with one of our prefixes.
 * @param referred variables that the settings file refers to.
 */
export function unknownVariables(env: Environment, referred: ReadonlySet<string>): string[] {
  return unknownNames(env, referred)
    .filter((name) => OWN_PREFIX.test(name))
    .map((name) => `${shown(name)} is not a known variable; the nearest one is ${nearestVariable(name)}`)
}

/**
 * A name counts as misspelled only if it is similar to one of our variables of at least this length. Names similar to a
 * shorter variable may belong to other programs.
 */
const SHORTEST_NAME = 8

/**
 * @returns a warning for each unknown variable that is similar to one of our variables but has none of our prefixes.
 * The variable may belong to another program.
 */
export function misspelled(env: Environment, referred: ReadonlySet<string>): string[] {
  return unknownNames(env, referred).flatMap((name) => {
    const meant = known.find((other) => other.length >= SHORTEST_NAME && isNear(name, other))
    if (OWN_PREFIX.test(name) || meant === undefined) return []
    return [`${shown(name)} is not a known setting and has no effect. Did you mean ${meant}?`]
  })
}

/** True if one edit turns one name into the other (see `editDistance`), or if only case and underscores differ. */
function isNear(name: string, other: string): boolean {
  const letters = (text: string) => text.replaceAll('_', '').toUpperCase()
  return letters(name) === letters(other) || editDistance(name.slice(0, 64), other) === 1
}

/** @returns the names of set variables that this program doesn't read. */
function unknownNames(env: Environment, referred: ReadonlySet<string>): string[] {
  const isExpected = (name: string) => known.includes(name) || referred.has(name) || isServiceLink(name, env[name])
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && !isExpected(name))
    .sort()
}

function shown(name: string): string {
  return name.replace(/\W/g, '?')
}

function nearestVariable(name: string): string {
  const prefix = OWN_PREFIX.exec(name)?.[0] ?? ''
  const without = name.replace(/_FILE$/, '')
  return known.includes(without)
    ? without
    : nearest(
        name,
        known.filter((other) => other.startsWith(prefix)),
      )
}

function isServiceLink(name: string, value = ''): boolean {
  return SERVICE_LINK.test(name) && (!name.endsWith('_PORT') || name.endsWith('_SERVICE_PORT') || /^(?:tcp|udp):/.test(value))
}
