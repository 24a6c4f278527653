import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { settingsSchema } from '../../src/config/schema/schema.ts'
import { metaOf, unwrapped } from '../../src/config/schema/unwrapped.ts'
import { outsideVariables } from '../../src/config/sources/names.ts'

/**
 * Generates the tables of the settings' documents, and .env.example, from the schema. In a document `<!-- settings: database log -->` marks
 * the table of these keys, `<!-- keys: operators -->` the common keys of a list's items, `<!-- keys: operators.email -->` those of one
 * kind; `<!-- end -->` closes each. `node test/tools/settings-reference.ts` writes them; a test detects outdated ones.
 */

const place = (path: string) => new URL(`../../${path}`, import.meta.url)

export const REFERENCES = [
  'config/README.md',
  'config/destinations.md',
  'config/systems/webhook.md',
  'config/systems/amazon-sqs.md',
  'config/systems/http.md',
  'config/systems/ams360.md',
  'config/systems/files.md',
  'docker/monitoring.md',
  '.env.example',
] as const

interface Row {
  readonly env?: string | undefined
  readonly file?: true | undefined
  readonly key: string
  readonly shown: string
  readonly value: string
  readonly meaning: string
}

const TABLE = /<!-- (settings|keys): ([\w. ]+) -->\n[\s\S]*?<!-- end -->/g

export function reference(path: (typeof REFERENCES)[number], current: string): string {
  if (path === '.env.example') return exampleOf(current)
  return current.replace(TABLE, (_, kind: string, names: string) => {
    const table = kind === 'settings' ? settingsTable(names) : keysTable(names)
    return `<!-- ${kind}: ${names} -->\n\n${table}\n\n<!-- end -->`
  })
}

export function rowsOf(names: string): Row[] {
  return names.split(' ').flatMap((name) => {
    const outside = outsideVariables.find(({ env }) => env === name)
    if (outside) return [{ env: name, key: '', shown: '', value: '', meaning: outside.description }]
    const schema = settingsSchema.shape[name as keyof typeof settingsSchema.shape] as z.ZodType | undefined
    if (schema === undefined) throw new Error(`there is no setting ${name}`)
    return [...rowsIn(schema, name)]
  })
}

function* rowsIn(schema: z.core.$ZodType, key: string): Generator<Row> {
  const meta = metaOf(schema)
  const { description: meaning, env, file } = meta
  if (meaning !== undefined) {
    const value = defaultOf(schema) || (/^`([^`]*)`$/.exec(meta.shown ?? '')?.[1] ?? '')
    yield { env, file, key, value, shown: meta.shown ?? (value.includes(', ') || value === '' ? value : `\`${value}\``), meaning }
    return
  }
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray) yield* rowsIn(inner.element, `${key}[]`)
  else if (inner instanceof z.ZodObject) for (const [name, part] of Object.entries(inner.shape)) yield* rowsIn(part, `${key}.${name}`)
  else throw new Error(`${key} has no description in the schema`)
}

function defaultOf(schema: z.core.$ZodType): string {
  const value = schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined
  return Array.isArray(value) ? value.join(', ') : typeof value === 'object' || value === undefined ? '' : String(value)
}

function settingsTable(names: string): string {
  const rows = rowsOf(names).map(({ env, file, key, shown, meaning }) => [
    `${env === undefined ? '' : `\`${env}\``}${file ? ' `+_FILE`' : ''}`,
    key === '' ? '' : `\`${key}\``,
    shown,
    meaning,
  ])
  return tableOf(['variable', 'key in the file', 'default', 'meaning'], rows)
}

function keysTable(name: string): string {
  const [list = '', kind] = name.split('.')
  const union = unwrapped((unwrapped(settingsSchema.shape[list as 'operators']) as z.ZodArray).element) as z.ZodDiscriminatedUnion
  const options = union.options.map((option) => (option as z.ZodObject).shape as Readonly<Record<string, z.ZodType>>)
  const named = options.map((shape) => ({ kind: String((shape['kind'] as z.ZodLiteral).value), shape }))
  const isCommon = (key: string) => options.filter((shape) => key in shape).length * 2 > options.length
  const shown = kind === undefined ? named : named.filter((each) => each.kind === kind)
  const keys = [...new Set(shown.flatMap(({ shape }) => Object.keys(shape)))].filter((key) => isCommon(key) === (kind === undefined))
  const rows = keys.map((key) => {
    const each = shown.flatMap(({ kind: of, shape }) => (shape[key] ? [...rowsIn(shape[key], key)].map((row) => ({ of, ...row })) : []))
    const byDefault = Map.groupBy(each, (row) => row.shown)
    const kindsOf = (some: typeof each) => some.map(({ of }) => `\`${of}\``).join(', ')
    const defaults = [...byDefault].map(([text, some]) => (byDefault.size === 1 ? text : `${text} (${kindsOf(some)})`)).join(', ')
    return [`\`${key}\``, defaults, each[0]?.meaning ?? '']
  })
  return tableOf(['key', 'default', 'meaning'], rows)
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |')
  return [line(headings), `|${'---|'.repeat(headings.length)}`, ...rows.map(line)].join('\n')
}

const MARK = '# Generated from src/config/schema by `node test/tools/settings-reference.ts`.'

function exampleOf(current: string): string {
  const [introduction, ...rest] = current.split(MARK)
  if (introduction === undefined || rest.length === 0) throw new Error('.env.example has lost the mark behind its introduction')
  const sections = readFileSync(place('config/README.md'), 'utf8').split(/^### /m)
  const groups = sections.flatMap((section) => {
    const rows = [...section.matchAll(TABLE)].filter(([, kind]) => kind === 'settings').flatMap(([, , names = '']) => rowsOf(names))
    return rows.length === 0 ? [] : [`# ${section.split('\n', 1)[0]}\n\n${rows.flatMap(variablesOf).join('\n')}`]
  })
  const isRequired = (group: string) => REQUIRED.some((env) => group.includes(`\n${env}=`))
  // Required ones first.
  const ordered = [...groups.filter(isRequired), ...groups.filter((group) => !isRequired(group))]
  return `${introduction}${MARK}\n\n${ordered.join('\n\n')}\n`
}

/** Required variables have no `#` before them. */
const REQUIRED = ['BROKER_API_BASE_URL', 'BROKER_API_CLIENT_ID', 'BROKER_API_CLIENT_SECRET', 'WEBHOOK_SECRETS']

function variablesOf({ env, file, value, meaning }: Row): string[] {
  if (env === undefined) return []
  const set = `${env}=${/[ *]/.test(value) ? `'${value.replaceAll(', ', ',')}'` : value}`
  const lines = [...wrapped(plain(meaning)), REQUIRED.includes(env) ? set : `# ${set}`]
  return file ? [...lines, `# ${env}_FILE=`] : lines
}

/** A sentence without code marks and links, without a merely introductory sentence. */
function plain(markdown: string): string {
  const text = markdown
    .replace(/(?:: |; see )\[[^\]]*\]\([^)]*\)$/, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
  return markdown.startsWith('`') ? text : text.replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

function wrapped(text: string): string[] {
  return (text.match(/.{1,137}(?: |$)/g) ?? []).map((line) => `# ${line.trim()}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const path of REFERENCES) writeFileSync(place(path), reference(path, readFileSync(place(path), 'utf8')))
