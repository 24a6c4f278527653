import { z } from 'zod'
import { Secret } from '../../base/secret.ts'
import { field, list } from './reading.ts'
import { webhookKey } from './values.ts'

/**
 * Checks of settings against each other. They run even when single settings are invalid, so that all problems are reported at once; they
 * skip whatever is missing or malformed. In a message `{a.b}` stands for the setting with that key: `merge.ts` puts in the name by which
 * the user set it.
 */
export const alwaysRun = { when: () => true }

/** Names in a list must differ: they are keys. @param section the key of the list. */
export function checkNames(section: string): z.core.$ZodCheck<unknown> {
  return z.superRefine((items: unknown, context) => {
    const known = new Map<string, number>()
    list(items).forEach((item, index) => {
      const name = field(item, 'name')
      if (typeof name !== 'string') return
      const first = known.get(name)
      if (first === undefined) known.set(name, index)
      else context.addIssue({ code: 'custom', path: [index, 'name'], message: `is the same as {${section}.${first}.name}; choose another` })
    })
  }, alwaysRun)
}

/** Each duration of `keys` in `section` must be at most the next one. */
export function checkOrder(section: string, keys: readonly string[]): z.core.$ZodCheck<unknown> {
  return z.superRefine((values: unknown, context) => {
    keys.slice(1).forEach((key, index) => {
      const shorter = keys[index] ?? ''
      const [a, b] = [field(values, shorter), field(values, key)]
      if (typeof a === 'number' && typeof b === 'number' && a > b) {
        context.addIssue({ code: 'custom', path: [shorter], message: `must not be longer than {${section}.${key}}` })
      }
    })
  }, alwaysRun)
}

/** Settings for Postgres are refused on SQLite: whoever set them expects Postgres. */
export const checkDatabase = z.superRefine((values: unknown, context) => {
  if (field(field(values, 'url'), 'kind') !== 'sqlite') return
  for (const key of ['schema', 'listen_url']) {
    if (field(values, key) === undefined) continue
    context.addIssue({ code: 'custom', path: [key], message: 'is for Postgres only; remove it, or set {database.url} to postgres://…' })
  }
}, alwaysRun)

/** The receiver is public and the operations port is not, so the two must differ. Port 0 is any free port. */
export const checkPorts = z.superRefine((values: unknown, context) => {
  const port = field(field(values, 'ops'), 'port')
  if (typeof port !== 'number' || port === 0 || port !== field(field(values, 'receiver'), 'port')) return
  context.addIssue({ code: 'custom', path: ['ops', 'port'], message: 'must differ from {receiver.port}; choose another' })
}, alwaysRun)

/** A timetable on Postgres would be one that nothing follows. */
export const checkBackup = z.superRefine((values: unknown, context) => {
  const cron = field(field(values, 'backup'), 'cron')
  if (typeof cron !== 'string' || field(field(values, 'database'), 'kind') !== 'postgres') return
  const message = 'is for SQLite only; set it to off, and let pg_dump or the server itself back up Postgres'
  context.addIssue({ code: 'custom', path: ['backup', 'cron'], message })
}, alwaysRun)

/** Actor names that the audit trail uses for actions without a token. */
const RESERVED_NAMES: ReadonlyMap<unknown, string> = new Map([
  ['command', 'who acts by commands'],
  ['signal', 'who reloads by a signal'],
  ['schedule', 'what is done by a timetable'],
])

/** Token names appear in the audit trail, so neither names nor tokens may repeat. */
export const checkTokens = z.superRefine((tokens: unknown, context) => {
  const [names, texts] = [new Set<unknown>(), new Set<string>()]
  list(tokens).forEach((item, index) => {
    const [name, token] = [field(item, 'name'), field(item, 'token')]
    if (typeof name === 'string' && names.has(name))
      context.addIssue({ code: 'custom', path: [index], message: 'has a name that was used before; choose another' })
    const actor = RESERVED_NAMES.get(name)
    if (actor !== undefined)
      context.addIssue({ code: 'custom', path: [index], message: `must not be named ${name}, which is ${actor}; choose another name` })
    names.add(name)
    if (!(token instanceof Secret)) return
    if (texts.has(token.reveal()))
      context.addIssue({ code: 'custom', path: [index], message: 'has a token that was used before; make a new one' })
    texts.add(token.reveal())
  })
}, alwaysRun)

/** Encrypting needs a key, and each text names its key. */
export const checkProtect = z.superRefine((values: unknown, context) => {
  const keys = list(field(values, 'keys'))
  if (field(values, 'mode') === 'encrypt' && keys.length === 0)
    context.addIssue({ code: 'custom', path: ['keys'], message: 'must hold a key when {protect.mode} is encrypt' })
  const ids = new Set<unknown>()
  keys.forEach((key, index) => {
    const id = field(key, 'id')
    if (typeof id === 'string' && ids.has(id))
      context.addIssue({ code: 'custom', path: ['keys', index], message: 'has an id that was used before; choose another' })
    ids.add(id)
  })
}, alwaysRun)

/** At most one account is the default. No two accounts share a webhook secret: a staging secret must never write production rows (trap 36). */
export const checkAccounts = z.superRefine((accounts: unknown, context) => {
  const secrets = new Map<string, number>()
  let defaultAt: number | null = null
  list(accounts).forEach((account, index) => {
    if (field(account, 'default') === true) {
      if (defaultAt !== null) {
        const message = `must not be true as well as {accounts.${defaultAt}.default}; one account at most is the default`
        context.addIssue({ code: 'custom', path: [index, 'default'], message })
      } else defaultAt = index
    }
    list(field(account, 'webhook_secrets')).forEach((secret, position) => {
      const key = secret instanceof Secret ? webhookKey(secret.reveal())?.toString('base64') : undefined
      if (key === undefined) return
      const other = secrets.get(key)
      secrets.set(key, other ?? index)
      if (other === undefined) return
      const message =
        other === index ? 'is given twice; remove one' : `is among {accounts.${other}.webhook_secrets} too; each account has its own`
      context.addIssue({ code: 'custom', path: [index, 'webhook_secrets', position], message })
    })
  })
}, alwaysRun)
