import { z } from 'zod'
import { Secret } from '../../base/secret.ts'
import { field, list } from '../sources/reading.ts'
import { webhookKey } from './values.ts'

/**
 * Checks of settings against each other. They run although some of the settings may be wrong by themselves, so that all problems
 * are told at once; so they look at what is there and pass over the rest. In a message `{a.b}` stands for the name of the setting
 * with that key, as its user wrote it.
 */
export const always = { when: () => true }

/** Names are keys, and tell who did something: no two of a list have the same. @param section where the list lies. */
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
  }, always)
}

/** Each of `keys` in `section` must be at most as long as the next. */
export function checkOrder(section: string, keys: readonly string[]): z.core.$ZodCheck<unknown> {
  return z.superRefine((values: unknown, context) => {
    keys.slice(1).forEach((key, index) => {
      const shorter = keys[index] ?? ''
      const [a, b] = [field(values, shorter), field(values, key)]
      if (typeof a === 'number' && typeof b === 'number' && a > b) {
        context.addIssue({ code: 'custom', path: [shorter], message: `must not be longer than {${section}.${key}}` })
      }
    })
  }, always)
}

/** What is meant for Postgres says nothing on SQLite: whoever set it believes to use Postgres. */
export const checkDatabase = z.superRefine((values: unknown, context) => {
  if (field(field(values, 'url'), 'kind') !== 'sqlite') return
  for (const key of ['schema', 'listen_url']) {
    if (field(values, key) === undefined) continue
    context.addIssue({ code: 'custom', path: [key], message: 'is for Postgres only; take it out, or set {database.url} to postgres://…' })
  }
}, always)

/** The receiver is open to the world and the operations port is not: they never share one. Port 0 is any free port. */
export const checkPorts = z.superRefine((values: unknown, context) => {
  const port = field(field(values, 'ops'), 'port')
  if (typeof port !== 'number' || port === 0 || port !== field(field(values, 'receiver'), 'port')) return
  context.addIssue({ code: 'custom', path: ['ops', 'port'], message: 'must differ from {receiver.port}; choose another' })
}, always)

/** Who acts in the notes of what was done without a token. */
const ACTORS: ReadonlyMap<unknown, string> = new Map([
  ['command', 'who acts by commands'],
  ['signal', 'who reloads by a signal'],
])

/** A name tells who did something, so neither names nor tokens are given twice. */
export const checkTokens = z.superRefine((tokens: unknown, context) => {
  const [names, texts] = [new Set<unknown>(), new Set<string>()]
  list(tokens).forEach((item, index) => {
    const [name, token] = [field(item, 'name'), field(item, 'token')]
    if (typeof name === 'string' && names.has(name))
      context.addIssue({ code: 'custom', path: [index], message: 'has a name that was used before; choose another' })
    const actor = ACTORS.get(name)
    if (actor !== undefined)
      context.addIssue({ code: 'custom', path: [index], message: `must not be named ${name}, which is ${actor}; choose another name` })
    names.add(name)
    if (!(token instanceof Secret)) return
    if (texts.has(token.reveal()))
      context.addIssue({ code: 'custom', path: [index], message: 'has a token that was used before; make a new one' })
    texts.add(token.reveal())
  })
}, always)

/**
 * One account at most is the default one, and no webhook secret belongs to two: so a secret of staging can never write production's
 * rows (trap 36).
 */
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
        other === index ? 'is given twice; take one out' : `is among {accounts.${other}.webhook_secrets} too; each account has its own`
      context.addIssue({ code: 'custom', path: [index, 'webhook_secrets', position], message })
    })
  })
}, always)
