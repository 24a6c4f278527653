import { expect, it } from 'vitest'
import { UpstreamClients } from '../../src/app/clients.ts'
import { compareSettings } from '../../src/app/settings-changes.ts'
import { type WorkingParts, workingGroups } from '../../src/app/working.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { sameSettings } from '../../src/config/same-settings.ts'
import { hook, withFile } from '../config/support.ts'
import { silentLog, sqliteDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'

const SETTINGS = `
accounts:
  - { name: acme, default: true, base_url: "https://api.service.test/api/v1", client_credentials: [{ id: bac_1, secret: "$\{ONE}" }], webhook_secrets: ["$\{HOOK1}"] }
  - { name: beta, base_url: "https://api.service.test/api/v1", client_credentials: [{ id: bac_2, secret: "$\{TWO}" }], webhook_secrets: ["$\{HOOK2}"] }
destinations:
  - { name: ams, kind: webhook, url: "https://ams.test/hook", secret: "$\{AMS}", accounts: [acme] }
  - { name: bi, kind: webhook, url: "https://bi.test/hook", secret: "$\{AMS}", accounts: [beta] }
operators:
  - { name: pager, kind: webhook, url: "https://pager.test/hook", secret: "$\{AMS}" }
`

function configOf(yaml: string): Config {
  return loadConfig(
    withFile(yaml, { AMS: hook(3), ONE: 'bas_one-secret', TWO: 'bas_two-secret', NEW: 'bas_new-secret', OPS: 'a-token-of-16-chars' }),
  )
}

/** The settings that each group of a process depends on. */
type Groups = (config: Config) => ReadonlyMap<string, readonly unknown[]>

async function groupsOf(): Promise<Groups> {
  const { db } = await closedAtEnd(sqliteDatabase.open())
  const common = { db, clock: systemClock, log: silentLog, observer: silentObserver, senders: new Set<never>(), restMs: () => 0 }
  const all = new UpstreamClients(common)
  return (config) => {
    const parts: WorkingParts = { ...common, config, clients: all.prepare(config).clients }
    const made = workingGroups(parts)
    expect(new Set(made.map(({ name }) => name)).size).toBe(made.length)
    return new Map(made.map(({ name, settings }) => [name, settings]))
  }
}

/** Groups that a reload ends, begins or restarts. */
function touched(groups: Groups, before: Config, after: Config): string[] {
  const [a, b] = [groups(before), groups(after)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => !sameSettings(a.get(name), b.get(name)))
}

it('a reload touches what goes by the settings that changed, and nothing else', async () => {
  const groups = await groupsOf()
  const before = configOf(SETTINGS)
  const all = (from: string, to: string) => touched(groups, before, configOf(SETTINGS.replaceAll(from, to)))
  const stages = (from: string, to: string) =>
    all(from, to).filter((name) => /^(?:listener|worker|poller of .*|fan-out|destination .*)$/.test(name))
  expect(groups(before).size).toBeGreaterThan(7)
  expect(all('{HOOK1}', '{HOOK3}')).toEqual([])
  expect(stages('{ONE}', '{NEW}')).toEqual(['poller of acme'])
  expect(stages('https://ams.test', 'https://ams2.test')).toEqual(['fan-out', 'destination ams'])
  expect(stages('name: bi,', 'name: bi2,')).toEqual(['fan-out', 'destination bi', 'destination bi2'])
  expect(stages('\ndestinations:', '\nreconcile: { budget: 1h }\ndestinations:')).toEqual([])
  expect(all('\ndestinations:', '\nreconcile: { budget: 1h }\ndestinations:')).toContain('reconcile')
  expect(all('\ndestinations:', '\ndocuments: { total_bytes: 1GiB }\ndestinations:')).toContain('alarms')
  expect(stages('\ndestinations:', '\npoll: { active: 30s }\ndestinations:')).toEqual(['poller of acme', 'poller of beta'])
  const fields = '\nrecord_fields: { insureds: { dba_name: [trading_as] } }\ndestinations:'
  expect(all('\ndestinations:', fields)).toEqual(['poller of acme', 'poller of beta', 'reconcile'])
  expect(all('\ndestinations:', '\nlog: { level: debug }\nops: { tokens: "ann:${OPS}" }\ndestinations:')).toEqual([])
})

/** Settings that are read when needed, need a restart, or belong to the log or a destination. */
const ELSEWHERE = [
  'accounts',
  'database',
  'migrateOnStart',
  'receiver',
  'ops',
  'log',
  'taxIdFields',
  'protect',
  'warnings',
  'overridden',
  'fromEnvironment',
]

it('a change of any setting reaches a service', async () => {
  const groups = await groupsOf()
  const before = configOf(SETTINGS)
  for (const key of Object.keys(before).filter((name) => !ELSEWHERE.includes(name)) as (keyof Config)[]) {
    const after = { ...before, [key]: otherThan(before[key]) }
    expect(touched(groups, before, after), `of a reload that changes ${key} nobody hears; see src/app/operating.ts`).not.toEqual([])
  }
})

/** Settings without a sentence: compared by account, or about the others. */
const UNTOLD = ['accounts', 'destinations', 'database', 'warnings', 'overridden', 'fromEnvironment']

it('a reload reports every change', () => {
  const before = configOf(SETTINGS)
  for (const key of Object.keys(before).filter((name) => !UNTOLD.includes(name)) as (keyof Config)[]) {
    const value: unknown = before[key]
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    for (const after of isGroup ? Object.entries(value).map(([name, one]) => ({ ...value, [name]: otherThan(one) })) : [otherThan(value)]) {
      const { applied, needsRestart } = compareSettings(before, { ...before, [key]: after })
      expect([...applied, ...needsRestart], `${key}: ${JSON.stringify(after)}`).not.toEqual([])
    }
  }
})

it('a reload names the destination that makes the grace period longer', () => {
  const before = configOf(SETTINGS)
  const [first] = before.destinations
  if (first === undefined) throw new Error('the settings have no destination')
  const careful = { ...first, name: 'nowcerts', idempotent: false }
  const idempotent = { ...before, destinations: [{ ...first, idempotent: true }], shutdownGraceMs: 8_000 }
  const { applied } = compareSettings(idempotent, { ...idempotent, destinations: [careful], shutdownGraceMs: 25_000 })
  expect(applied).toContain("SHUTDOWN_GRACE is now 25 s (nowcerts isn't idempotent)")
})

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value} `
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return value.length > 0 ? value.slice(1) : ['another']
  return { ...(value as object), something: 'new' }
}
