import { z } from 'zod'
import { listNames } from '../../base/list-names.ts'
import { alwaysRun } from './cross-checks.ts'
import { bareHost } from './destination-values.ts'
import { field, list } from './reading.ts'

/** Checks within a destination, and of destinations against accounts. The rules of `cross-checks.ts` hold here too. */

/** A webhook is signed with one secret, or with two while one is being replaced. */
export const checkSecrets = z.superRefine((values: unknown, context) => {
  const [one, many] = [field(values, 'secret'), field(values, 'secrets')]
  if (one !== undefined && many !== undefined)
    context.addIssue({ code: 'custom', path: ['secrets'], message: 'and secret are both set; keep one of them' })
  else if (one === undefined && (many === undefined || (Array.isArray(many) && many.length === 0)))
    context.addIssue({ code: 'custom', path: ['secret'], message: 'is missing; set it, as a reference to a secret of whsec_ and base64' })
}, alwaysRun)

/** Plain http is refused except for private addresses. Hosts must be on the destination's own `allow_hosts`. */
export const checkTransport = z.superRefine((values: unknown, context) => {
  const hosts = field(values, 'allow_hosts')
  const isAllowed = (host: unknown): boolean => !Array.isArray(hosts) || typeof host !== 'string' || hosts.includes(host)
  for (const path of [['url'], ['auth', 'token_url'], ['queue', 'url']]) {
    const text = path.reduce<unknown>(field, values)
    const url = typeof text === 'string' ? URL.parse(text) : null
    if (url === null) continue
    if (url.protocol === 'http:' && field(values, 'allow_private') !== true)
      context.addIssue({ code: 'custom', path, message: 'must use https; http is only allowed with allow_private: true' })
    if (!isAllowed(bareHost(url.hostname)))
      context.addIssue({ code: 'custom', path, message: 'is at a host that allow_hosts does not name; add it there' })
  }
  const path = ['target', 'host']
  if (!isAllowed(path.reduce<unknown>(field, values)))
    context.addIssue({ code: 'custom', path, message: 'is a host that allow_hosts does not name; add it there' })
}, alwaysRun)

/** SFTP needs a password or a private key. */
export const checkCredentials = z.superRefine((values: unknown, context) => {
  if (field(values, 'password') !== undefined || field(values, 'private_key') !== undefined) return
  context.addIssue({ code: 'custom', path: ['password'], message: 'is missing; set it or private_key' })
}, alwaysRun)

/** A client certificate needs its key. */
export const checkTls = z.superRefine((values: unknown, context) => {
  const [cert, key, ca] = ['cert', 'key', 'ca'].map((name) => field(values, name))
  if ((cert === undefined) !== (key === undefined))
    context.addIssue({
      code: 'custom',
      path: [cert === undefined ? 'cert' : 'key'],
      message: 'is missing; a certificate and its key need each other',
    })
  else if (cert === undefined && ca === undefined)
    context.addIssue({ code: 'custom', path: [], message: 'holds nothing; set cert and key, or ca, or remove it' })
}, alwaysRun)

/** With several accounts, a destination must name its own. */
export const checkDestinations = z.superRefine((settings: unknown, context) => {
  const accounts = list(field(settings, 'accounts'))
    .map((account) => field(account, 'name'))
    .filter((name) => typeof name === 'string')
  // Commands that need only the database may have no account at all.
  if (accounts.length === 0) return
  list(field(settings, 'destinations')).forEach((destination, index) => {
    const at = ['destinations', index, 'accounts']
    const own = field(destination, 'accounts')
    if (own === undefined && accounts.length > 1 && typeof destination === 'object') {
      const message = 'is missing; name the accounts whose changes it gets, since there are several'
      context.addIssue({ code: 'custom', path: at, message })
    }
    list(own).forEach((account, position) => {
      if (typeof account !== 'string' || accounts.includes(account)) return
      const message = `is not an account of the settings; ${listNames(accounts)}`
      context.addIssue({ code: 'custom', path: [...at, position], message })
    })
  })
}, alwaysRun)

/** Refresh tokens are stored encrypted, so they need a key. */
export const checkRefreshTokens = z.superRefine((settings: unknown, context) => {
  if (list(field(field(settings, 'protect'), 'keys')).length > 0) return
  list(field(settings, 'destinations')).forEach((destination, index) => {
    const auth = field(destination, 'auth')
    const key = field(auth, 'type') === 'login' ? 'refresh_token' : 'refresh'
    const value = field(auth, key)
    if (value === undefined || value === false) return
    const message = 'needs a key in {protect.keys}: a refresh token is stored encrypted; set one, or leave refreshing out'
    context.addIssue({ code: 'custom', path: ['destinations', index, 'auth', key], message })
  })
}, alwaysRun)

/** A document goes along with the update of its row that says it was stored. */
export const checkDocuments = z.superRefine((values: unknown, context) => {
  if (field(values, 'documents') !== true) return
  for (const [key, needed, why] of [
    ['entities', 'documents', 'whose files documents: true sends'],
    ['operations', 'update', 'for a document is stored after it is known'],
  ] as const) {
    const names = field(values, key)
    if (!Array.isArray(names) || names.includes(needed)) continue
    context.addIssue({ code: 'custom', path: [key], message: `must name ${needed}, ${why}` })
  }
}, alwaysRun)
