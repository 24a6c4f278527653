import { inspect } from 'node:util'
import { splitServers } from './postgres-url.ts'

/** What stands in the place of a secret. */
export const REDACTED = '[redacted]'

/** A value that never shows by accident: printed, logged or serialised it is `[redacted]`. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value, for the one place that uses it. */
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

/**
 * @param secrets in any order; an empty one is none.
 * @param mask what stands in the place of each.
 */
export function withoutSecrets(text: string, secrets: readonly string[], mask = REDACTED): string {
  // Longest first: a shorter secret with the same beginning would leave the rest of the longer one.
  const found = secrets.filter((secret) => secret !== '' && text.includes(secret)).sort((a, b) => b.length - a.length)
  if (found.length === 0) return text
  // In one pass, since a secret of few letters may stand in the mask.
  const pattern = found.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  return text.replace(new RegExp(pattern, 'g'), () => mask)
}

/** What users of a secret need of it. */
export type SecretText = Pick<Secret, 'reveal'>

/** Scheme, user and password of a URL. */
const USER_INFO = /^["'\s]*([a-z][a-z0-9+.-]*):\/\/(?:([^/?#:]*):)?([^/?#]*)@/i
/** The path of a webhook of Zapier or Make, which lets anybody in who knows it. */
const HOOK_PATH = /^["'\s]*https:\/\/(?:hooks\.zapier\.com\/hooks\/[a-z]+|hook\.[a-z0-9.-]+\.make\.com)\/([^\s"'?#]+?)\/?(?=["'\s?#]|$)/i
/** A parameter of a query whose name says that its value is secret. `sslkey` and its like name files. */
const SECRET_PARAMETER =
  /[?&](?!ssl)[\w.%-]*(?:sig|signature|key|code|token|secret|passw(?:or)?d|pwd|auth|authorization|credentials?)=([^&#\s"']+)/gi

/**
 * The parts of a URL that are secret, as they are written: its password, and each value of its query whose name says so (`sig`, `code`,
 * `api_key`). For http a user without a password counts as one, because tokens are given like that,
 * and so does the path of a hook of Zapier or Make.
 * @param text a URL of any scheme, or an expression that begins with one.
 */
export function secretPartsOfUrl(text: string): string[] {
  const [, scheme = '', user, last = ''] = USER_INFO.exec(text) ?? []
  const isHttp = /^https?$/i.test(scheme)
  const password = isHttp || user !== undefined ? last : ''
  const token = isHttp && last === '' ? (user ?? '') : ''
  return [password, token, ...secretsAfterHost(text)].filter((part) => part !== '')
}

/** As `secretPartsOfUrl`, of path and query alone. */
export function secretsAfterHost(text: string): string[] {
  const [, path] = HOOK_PATH.exec(text) ?? []
  return [...(path === undefined ? [] : [path]), ...[...text.matchAll(SECRET_PARAMETER)].map(([, value = '']) => value)]
}

/**
 * The secrets in a URL: the whole of it, and its secret parts in every spelling: as written, as a library encodes them, and decoded.
 * @param text a URL of any scheme.
 */
export function secretsOfUrl(text: string): string[] {
  // All servers of a database get the same password.
  const url = URL.parse(splitServers(text)?.[0]?.url ?? text)
  const token = url && /^https?:$/.test(url.protocol) ? url.username : ''
  const parts = [...secretPartsOfUrl(text), url?.password || token].filter((part) => part !== undefined)
  return [text, ...parts, ...parts.map(decoded)].filter((part) => part !== '')
}

/**
 * @param secret any secret: a word, a key in many lines, a URL.
 * @param users names that may be sent together with it.
 * @returns each form in which it could appear in a text: as it is, as libraries write it into URLs and forms, and as login.
 */
export function secretForms(secret: string, users: readonly string[]): string[] {
  // Single lines too, since a key may be printed with other line breaks.
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
    // As HTTP and SMTP log in.
    ...users.flatMap((user) => [base64(`${user}:${word}`), base64(`\0${user}\0${word}`)]),
  ]
}

/** The secrets in a URL whose address may be shown: its secret parts, and its query as a whole. @param text as of `secretPartsOfUrl`. */
export function secretsOfQuery(text: string): string[] {
  const parts = secretPartsOfUrl(text)
  return [...[...parts, ...parts.map(decoded)].flatMap((part) => spellings(part, [])), URL.parse(text)?.search ?? ''].filter(
    (part) => part !== '',
  )
}

/** What stands for user and password in a URL within a text; of http a user alone too, because tokens are given like that. */
const PASSWORD = /\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>/?#:@]*:|https?:\/\/)[^\s"'<>/?#]+(?=@)/gi

/** @returns the text with what is secret in its URLs masked by its place, as `secretPartsOfUrl` finds it. */
export function withoutUrlSecrets(text: string): string {
  return text
    .replace(PASSWORD, `$1${REDACTED}`)
    .replace(SECRET_PARAMETER, (pair: string, value: string) => `${pair.slice(0, -value.length)}${REDACTED}`)
}

/** A URL with a query, anywhere in a text. */
const QUERY = /(https?:\/\/[^\s"'<>?#]*\?)([^\s"'<>#]+)/gi

/** @returns the text without passwords in its URLs, and without the values in their queries: any of them may be a secret. */
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
