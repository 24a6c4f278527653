import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import { destinationSchema } from '../../src/config/schema/destination.ts'
import { operatorSchema } from '../../src/config/schema/operator.ts'
import type { Path } from '../../src/config/schema/reading.ts'
import { settings } from '../../src/config/sources/names.ts'
import { personalColumns } from '../../src/model/personal.ts'
import { checkTemplates } from '../../src/push/http/check-templates.ts'
import { account, file, hook } from './support.ts'

const place = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const read = (path: string) => readFileSync(place(path), 'utf8')

const keyInFile = (path: Path) =>
  path
    .map((part) => (typeof part === 'number' ? '[]' : `.${part}`))
    .join('')
    .slice(1)

const exampleEnv = {
  CONFIG_FILE: place('config/mirror.example.yaml'),
  ACME_CLIENT_ID: 'bac_1',
  ACME_CLIENT_SECRET: 'bas_1',
  ACME_WEBHOOK_SECRET: hook(1),
  ACME_STAGING_CLIENT_ID: 'bac_2',
  ACME_STAGING_CLIENT_SECRET: 'bas_2',
  ACME_STAGING_WEBHOOK_SECRETS: hook(2),
}

test('the example of the YAML file loads, shows every key, and has the defaults', () => {
  const { accounts, fromEnvironment, ...rest } = loadConfig(exampleEnv)
  const { accounts: _, fromEnvironment: __, ...defaults } = loadConfig(account)
  expect(fromEnvironment).toEqual(
    Object.keys(exampleEnv)
      .filter((name) => name !== 'CONFIG_FILE')
      .sort(),
  )
  expect(rest).toEqual(defaults)
  expect(accounts.map((each) => [each.name, each.default])).toEqual([
    ['acme', true],
    ['acme-staging', false],
  ])
  const text = read('config/mirror.example.yaml')
  for (const { path } of settings) expect(text, keyInFile(path)).toMatch(new RegExp(`^[ #-]*${path.at(-1)}:`, 'm'))
  expect(Object.keys(parse(text) as object)).toEqual(
    [...new Set(['accounts', 'record_fields', 'destinations', 'push', 'operators', ...settings.map(({ path }) => path[0])])].sort(
      byFirstUse(text),
    ),
  )
})

test('the destinations that the example comments out load, when their secrets are there', () => {
  const text = read('config/mirror.example.yaml')
  const commented = text.slice(text.indexOf('# destinations:\n'), text.indexOf('\n\n# Defaults of destinations'))
  const destinations = commented.replaceAll(/^# ?/gm, '')
  const path = file(text.replace('\ndestinations: []\n', `\n${destinations}\n`))
  const epic = ['CLIENT_ID', 'CLIENT_SECRET', 'ACTIVITY_CODE_ID', 'AGENCY_ID', 'BRANCH_ID', 'ACCESS_LEVEL_ID']
  const secrets = { AGENCY_SECRET: hook(3), NOTES_PASSWORD: 'a-password', ...Object.fromEntries(epic.map((name) => [`EPIC_${name}`, '1'])) }
  const config = loadConfig({ ...exampleEnv, ...secrets, CONFIG_FILE: path })
  expect(config.destinations.map(({ name, kind }) => [name, kind])).toEqual([
    ['agency', 'webhook'],
    ['epic', 'http'],
    ['notes', 'http'],
    ['drop', 'file'],
  ])
  for (const destination of config.destinations) if (destination.kind === 'http') expect(checkTemplates(destination)).toEqual([])
})

test('the operators that the example comments out load with their secrets, and the reference describes every key', () => {
  const text = read('config/mirror.example.yaml')
  const commented = text.slice(text.indexOf('# operators:\n'), text.indexOf('\n\n# Time for running work'))
  const path = file(text.replace('\noperators: []\n', `\n${commented.replaceAll(/^# ?/gm, '')}\n`))
  const { operators } = loadConfig({ ...exampleEnv, ONCALL_SECRET: hook(3), SMTP_PASSWORD: 'a-password', CONFIG_FILE: path })
  expect(operators.map(({ name, kind }) => [name, kind])).toEqual([
    ['oncall', 'webhook'],
    ['mail', 'email'],
  ])
  const section = read('docker/monitoring.md')
  for (const option of operatorSchema.options) for (const key of Object.keys(option.shape)) expect(section, key).toContain(`\`${key}\``)
})

test('the reference describes every key of a destination, and every personal column', () => {
  const reference = ['destinations', 'systems/webhook', 'systems/amazon-sqs', 'systems/http', 'systems/ams360', 'systems/files']
    .map((page) => read(`config/${page}.md`))
    .join('\n')
  for (const option of destinationSchema.options)
    for (const key of Object.keys(option.shape)) expect(reference, key).toMatch(new RegExp(`\`${key}[\`.]`))
  for (const column of personalColumns) expect(reference).toContain(`\`${column}\``)
})

function byFirstUse(text: string) {
  return (a: string | number | undefined, b: string | number | undefined) => text.search(`\n${a}:`) - text.search(`\n${b}:`)
}

/** @returns the program's environment from a shell that reads the file as documented, with all defaults set. */
function readByShell(path: string): Map<string, string> {
  const script = read(path).replace(/^# (?=[A-Z_]+=)/gm, '')
  const tell = 'exec "$0" --print "JSON.stringify(process.env)"'
  const env = execFileSync('sh', ['-e', '-c', `set -a\n${script}\n${tell}`, process.execPath], { encoding: 'utf8', env: {} })
  return new Map(Object.entries(JSON.parse(env) as Record<string, string>))
}

test('the example of the environment shows every variable, with its default, as a shell can read it', () => {
  const shown = readByShell('.env.example')
  for (const { env, file } of settings) {
    expect(shown.has(env), env).toBe(true)
    if (file) expect(shown.has(`${env}_FILE`), env).toBe(true)
  }
  // SQLite, the default, has no schema.
  const defaults = Object.fromEntries([...shown].filter(([name, value]) => value !== '' && name !== 'DATABASE_SCHEMA'))
  const { fromEnvironment, ...loaded } = loadConfig({ ...account, ...defaults })
  expect(fromEnvironment).toEqual(expect.arrayContaining(['ACCOUNT', 'PROTECT', 'STATE_READS']))
  const { fromEnvironment: _, ...bare } = loadConfig(account)
  expect(loaded).toEqual(bare)
})
