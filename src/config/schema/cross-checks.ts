import { z } from 'zod'
import { listNames } from '../../base/list-names.ts'
import type { Secret } from '../../base/secret.ts'
import type { DestinationSettings } from './destination.ts'
import { field } from './reading.ts'
import { webhookKey } from './values.ts'

/**
 * Checks of settings against each other. In a message, `merge.ts` replaces `{a.b}` by the setting's name as the
 * user set it.
 */

/** Checks that the names in a list differ, because they are keys. @param section key of the list. */
export function checkNames(section: string) {
  return z.superRefine((items: readonly { readonly name: string }[], context) => {
    items.forEach(({ name }, index) => {
      const first = items.findIndex((item) => item.name === name)
      if (first === index) return
      context.addIssue({ code: 'custom', path: [index, 'name'], message: `is the same as {${section}.${first}.name}; choose another` })
    })
  })
}

/** Checks that the durations of `keys` in `section` are in ascending order. Equal durations are allowed. */
export function checkOrder<K extends string>(section: string, keys: readonly K[]) {
  return z.superRefine((values: Readonly<Record<K, number>>, context) => {
    keys.forEach((key, index) => {
      const longer = keys[index + 1] ?? key
      if (values[key] <= values[longer]) return
      context.addIssue({ code: 'custom', path: [key], message: `must not be longer than {${section}.${longer}}` })
    })
  })
}

/** Rejects Postgres settings if the database is SQLite. The user probably wanted Postgres. */
export const checkDatabase = z.superRefine((values: { readonly url: { readonly kind: string } }, context) => {
  if (values.url.kind !== 'sqlite') return
  for (const key of ['schema', 'listen_url']) {
    if (field(values, key) === undefined) continue
    context.addIssue({ code: 'custom', path: [key], message: 'is for Postgres only; remove it, or set {database.url} to postgres://…' })
  }
})

/** Names that the audit trail uses for actions without a token. */
const RESERVED_NAMES: ReadonlyMap<string, string> = new Map([
  ['command', 'the actor of commands'],
  ['signal', 'the actor of reloads by a signal'],
  ['schedule', 'the actor of scheduled work'],
])

/**
 * Checks that names and tokens are unique, because the audit trail identifies a token by its name. Rejects reserved
 * names.
 */
export const checkTokens = z.superRefine((tokens: readonly { readonly name: string; readonly token: Secret }[], context) => {
  tokens.forEach(({ name, token }, index) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: [index], message })
    const before = tokens.slice(0, index)
    const actor = RESERVED_NAMES.get(name)
    if (before.some((other) => other.name === name)) refuse('has the same name as an earlier entry; choose another')
    if (actor !== undefined) refuse(`must not be named ${name}, which is ${actor}; choose another name`)
    if (before.some((other) => other.token.reveal() === token.reveal())) refuse('has the same token as an earlier entry; make a new one')
  })
})

/** Checks that key ids are unique, because encrypted text contains the id of its key. */
export const checkKeyIds = z.superRefine((keys: readonly { readonly id: string }[], context) => {
  keys.forEach(({ id }, index) => {
    if (keys.findIndex((other) => other.id === id) < index)
      context.addIssue({ code: 'custom', path: [index], message: 'has the same id as an earlier entry; choose another' })
  })
})

interface AccountSettings {
  readonly default: boolean
  readonly webhook_secrets: readonly Secret[]
}

/**
 * Allows at most one default account. Also checks that accounts don't share a webhook secret. Otherwise a delivery
 * signed with a staging account's secret could write rows of the production account (trap 36).
 */
export const checkAccounts = z.superRefine((accounts: readonly AccountSettings[], context) => {
  const secrets = new Map<string | undefined, number>()
  const defaultAt = accounts.findIndex((account) => account.default)
  accounts.forEach((account, index) => {
    if (account.default && index > defaultAt) {
      const message = `must not be true, because {accounts.${defaultAt}.default} is true; at most one account is the default`
      context.addIssue({ code: 'custom', path: [index, 'default'], message })
    }
    account.webhook_secrets.forEach((secret, position) => {
      const key = webhookKey(secret.reveal())?.toString('base64')
      const other = secrets.get(key)
      secrets.set(key, other ?? index)
      if (other === undefined) return
      const message =
        other === index ? 'is given twice; remove one' : `is among {accounts.${other}.webhook_secrets} too; each account has its own`
      context.addIssue({ code: 'custom', path: [index, 'webhook_secrets', position], message })
    })
  })
})

interface AllSettings {
  readonly accounts: readonly { readonly name: string }[]
  readonly protect: { readonly keys: readonly unknown[] }
  readonly destinations: readonly DestinationSettings[]
}

/** If there are several accounts, each destination must list its accounts. Rejects unknown accounts. */
export const checkDestinations = z.superRefine(({ accounts, destinations }: AllSettings, context) => {
  const names = accounts.map(({ name }) => name)
  if (names.length === 0) return
  destinations.forEach((destination, index) => {
    const at = ['destinations', index, 'accounts']
    if (destination.accounts === undefined && names.length > 1) {
      const message = 'is missing; list the accounts whose changes this destination gets'
      context.addIssue({ code: 'custom', path: at, message })
    }
    destination.accounts?.forEach((account, position) => {
      if (names.includes(account)) return
      context.addIssue({ code: 'custom', path: [...at, position], message: `is not an account of the settings; ${listNames(names)}` })
    })
  })
})

/** If refresh tokens are used, checks that `protect.keys` has a key, because refresh tokens are stored encrypted. */
export const checkRefreshTokens = z.superRefine(({ protect, destinations }: AllSettings, context) => {
  if (protect.keys.length > 0) return
  destinations.forEach((destination, index) => {
    const auth = destination.kind === 'http' ? destination.auth : undefined
    const key = auth?.type === 'login' ? 'refresh_token' : 'refresh'
    const value = field(auth, key)
    if (value === undefined || value === false) return
    const message = 'needs a key in {protect.keys}, because the refresh token is stored encrypted; set a key, or set `auth.refresh: false`'
    context.addIssue({ code: 'custom', path: ['destinations', index, 'auth', key], message })
  })
})
