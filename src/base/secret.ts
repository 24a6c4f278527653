import { inspect } from 'node:util'
import { splitServers } from './postgres-url.ts'

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
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspect.custom](): string {
    return '[redacted]'
  }
}

/** What users of a secret need of it. */
export type SecretText = Pick<Secret, 'reveal'>

/**
 * The secrets in a URL: the whole of it, and its password in every spelling: as written, as a library encodes it, and decoded. For http a user
 * without a password counts as one, because tokens are given like that.
 * @param text a URL of any scheme.
 */
export function secretsOfUrl(text: string): string[] {
  const written = /^[^/?#]*\/\/[^/?#:]*:([^/?#]*)@/.exec(text)?.[1]
  // All servers of a database get the same password.
  const url = URL.parse(splitServers(text)?.[0]?.url ?? text)
  const token = url?.password === '' && /^https?:$/.test(url.protocol) ? url.username : ''
  const found = [written, url?.password, url?.searchParams.get('password'), token].filter((part) => typeof part === 'string')
  return [text, ...found, ...found.map(decoded)].filter((part) => part !== '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
