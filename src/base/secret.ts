import { inspect } from 'node:util'
import { splitServers } from './postgres-url.ts'

export const REDACTED = '[redacted]'

/** A value that prints, logs and serializes as `[redacted]`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** @returns the secret text. Call this only where the text is used. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}

/** @returns the text with each secret replaced by `mask`. @param secrets in any order; empty secrets are ignored. */
export function withoutSecrets(text: string, secrets: readonly string[], mask = REDACTED): string {
  // The longest secret comes first. Otherwise, replacing a short secret could leave the rest of a longer secret in the
  // text.
  const found = secrets.filter((secret) => secret !== '' && text.includes(secret)).sort((a, b) => b.length - a.length)
  if (found.length === 0) return text
  // Replaces all secrets in one pass. A second pass could find a short secret inside an inserted mask.
  const pattern = found.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  return text.replace(new RegExp(pattern, 'g'), () => mask)
}

export type SecretText = Pick<Secret, 'reveal'>

/** Matches scheme, user, and password of a URL. */
const USER_INFO = /^["'\s]*([a-z][a-z0-9+.-]*):\/\/(?:([^/?#:]*):)?([^/?#]*)@/i
/** Matches a Zapier or Make webhook URL. The path of such a URL is its only credential. */
const HOOK_PATH = /^["'\s]*https:\/\/(?:hooks\.zapier\.com\/hooks\/[a-z]+|hook\.[a-z0-9.-]+\.make\.com)\/([^\s"'?#]+?)\/?(?=["'\s?#]|$)/i
/**
 * Matches query parameters with secret values. Excludes `sslkey` and similar parameters, because their values
 * are file names.
 */
const SECRET_PARAMETER =
  /[?&](?!ssl)[\w.%-]*(?:sig|signature|key|code|token|secret|passw(?:or)?d|pwd|auth|authorization|credentials?)=([^&#\s"']+)/gi

/**
 * Finds the secret parts of a URL, without decoding them:
 * - the password
 * - for http and https, a user without a password, which is a token
 * - the values of secret query parameters, such as `sig`, `code`, or `api_key`
 * - the path of a Zapier or Make webhook
 * @param text a URL of any scheme, or an expression that begins with a URL.
 */
export function secretPartsOfUrl(text: string): string[] {
  const [, scheme = '', user, last = ''] = USER_INFO.exec(text) ?? []
  const isHttp = /^https?$/i.test(scheme)
  const password = isHttp || user !== undefined ? last : ''
  const token = isHttp && last === '' ? (user ?? '') : ''
  return [password, token, ...secretsAfterHost(text)].filter((part) => part !== '')
}

/** Finds the secret parts of a URL's path and query; see `secretPartsOfUrl`. */
export function secretsAfterHost(text: string): string[] {
  const [, path] = HOOK_PATH.exec(text) ?? []
  return [...(path === undefined ? [] : [path]), ...[...text.matchAll(SECRET_PARAMETER)].map(([, value = '']) => value)]
}

/**
 * @returns the whole URL, and its secret parts as written, as encoded by URL libraries, and decoded.
 * @param text a URL of any scheme.
 */
export function secretsOfUrl(text: string): string[] {
  // The first server is enough, because all servers of a database get the same password.
  const url = URL.parse(splitServers(text)?.[0]?.url ?? text)
  const token = url && /^https?:$/.test(url.protocol) ? url.username : ''
  const parts = [...secretPartsOfUrl(text), url?.password || token].filter((part) => part !== undefined)
  return [text, ...parts, ...parts.map(decoded)].filter((part) => part !== '')
}

/**
 * @param secret a word, a key of several lines, or a URL.
 * @param users user names that may be sent with the secret.
 * @returns each form in which the secret could appear: as is, URL-encoded, form-encoded, base64, and as a login.
 */
export function secretForms(secret: string, users: readonly string[]): string[] {
  // Each long line of a key is also a secret, because the key may be printed with other line breaks.
  const lines = secret.split('\n').filter((line) => line.length >= 24 && !line.startsWith('-----'))
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(secret))
    return [...spellings(secret.replace(/^whsec_/, ''), users), ...lines.flatMap((line) => spellings(line, []))]
  const user = decoded(USER_INFO.exec(secret)?.[2] ?? '')
  return secretsOfUrl(secret).flatMap((part) => spellings(part, [user]))
}

function spellings(word: string, users: readonly string[]): string[] {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return [
    word,
    encodeURIComponent(word),
    new URLSearchParams({ _: word }).toString().slice('_='.length),
    base64(word),
    // Logins of HTTP and SMTP: user and secret in base64.
    ...users.flatMap((user) => [base64(`${user}:${word}`), base64(`\0${user}\0${word}`)]),
  ]
}

/**
 * Lists the texts to mask in a URL: its secret parts and its whole query. The rest of the URL may be shown.
 * @param text as in `secretPartsOfUrl`.
 */
export function secretsOfQuery(text: string): string[] {
  const parts = secretPartsOfUrl(text)
  return [...[...parts, ...parts.map(decoded)].flatMap((part) => spellings(part, [])), URL.parse(text)?.search ?? ''].filter(
    (part) => part !== '',
  )
}

/**
 * Matches user and password of a URL inside a text. For http and https, also matches a user alone, which may
 * be a token.
 */
const PASSWORD = /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>/?#:@]*:|https?:\/\/)[^\s"'<>/?#]+(?=@)/gi

/** @returns the text with the passwords, tokens, and secret query parameters of its URLs masked. */
export function withoutUrlSecrets(text: string): string {
  return text
    .replace(PASSWORD, `$1${REDACTED}`)
    .replace(SECRET_PARAMETER, (pair: string, value: string) => `${pair.slice(0, -value.length)}${REDACTED}`)
}

const QUERY = /(https?:\/\/[^\s"'<>?#]*\?)([^\s"'<>#]+)/gi

/** @returns the text with passwords and all query values of its URLs masked. Any query value may be a secret. */
export function withoutQueryValues(text: string): string {
  return withoutUrlSecrets(text).replace(QUERY, (_, address: string, query: string) => {
    const shown = query.split('&').map((pair) => (pair.includes('=') ? pair.replace(/=.*/s, `=${REDACTED}`) : REDACTED))
    return address + shown.join('&')
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
