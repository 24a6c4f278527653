import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import { TransientError } from './errors.ts'
import { printable } from './printable.ts'
import { REDACTED, withoutSecrets, withoutUrlSecrets } from './secret.ts'
import { isHarmless, rewriteJsonText } from './tax-id-text.ts'
import { type TaxIdKeys, taxIdKeys } from './tax-ids.ts'

/** The program's log: one JSON line for each entry. Created by `createLog`. */
export type Log = Logger

export interface LogOptions {
  readonly level: string
  /** True: readable lines for a terminal. False: JSON. */
  readonly pretty: boolean
  /** All secrets in the settings. Every log line masks them, also inside longer text. */
  readonly secrets: readonly string[] | KnownSecrets
  /** Where lines are written. Default: standard output. */
  readonly destination?: DestinationStream
}

/** Keys whose values are masked at any depth. Keys are compared in lower case, without `_` and `-`. */
const SECRET_KEYS = new Set(['authorization', 'clientsecret', 'accesstoken', 'refreshtoken', 'secret', 'secrets', 'password', 'token'])

/** Quick test for lines that may contain a key of `SECRET_KEYS`. Other lines needn't be parsed. */
const MAYBE_SECRET = /(?:authorization|secret|token|password)[a-z_-]*":/i

/** Limit in bytes of the lines that wait in memory while standard output can't be written. */
const KEPT_BYTES = 1 << 20

/**
 * Creates the log. The log masks known secrets, and fields known to contain a token, FEIN, or SSN. Each finished line
 * is searched, because pino's own redaction doesn't cover messages and errors.
 */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? (options.pretty ? pretty({ ignore: 'pid,hostname', sync: true }) : standardOutput())
  const known = options.secrets instanceof KnownSecrets ? options.secrets : new KnownSecrets(options.secrets)
  const masked: DestinationStream = {
    write(line: string) {
      // JSON escapes control characters only up to U+001F. `printable` escapes the remaining ones, and the line
      // stays valid JSON.
      const safe = printable(known.mask(validJson(line)))
      destination.write(options.pretty ? shownAsText(safe) : safe)
    },
  }
  const { isoTime } = pino.stdTimeFunctions
  return pino({ level: options.level, base: null, timestamp: isoTime, serializers: { err: shownError } }, masked)
}

/** Matches numbers that JSON doesn't allow, such as NaN. */
const BARE_NUMBER = /(?<=[[:,])-?(?:Infinity|NaN)(?=[\]},])/g

/**
 * @returns the line as valid JSON. If an entry contains a bigint, pino writes NaN and Infinity in typed arrays as they
 * are, which isn't valid JSON. This function replaces them with null.
 */
function validJson(line: string): string {
  if (line.search(BARE_NUMBER) === -1) return line
  try {
    JSON.parse(line)
    return line
  } catch {
    return line.replace(BARE_NUMBER, 'null')
  }
}

/**
 * Shortens an error for the log. Leaves out the stack of a system or transient error. Also leaves out `detail` and
 * `where` of a Postgres error, because they repeat row values.
 */
function shownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { stack, detail: _row, where: _place, ...rest } = pino.stdSerializers.err(error)
  const isOfSystem = 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)
  return error instanceof TransientError || isOfSystem ? rest : { stack, ...rest }
}

/** Escapes control characters inside texts again, because pretty-printing decodes JSON's escapes. */
function shownAsText(line: string): string {
  const texts = (_key: string, value: unknown) => (typeof value === 'string' ? printable(value) : value)
  return `${JSON.stringify(JSON.parse(line, texts))}\n`
}

/**
 * Standard output that survives write errors, such as a full disk. Lines that can't be written are kept, up to a limit,
 * and written later.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: KEPT_BYTES })
  output.on('error', () => {})
  return output
}

/**
 * Masks secrets and the values of tax-id keys. A secret that is removed from the settings stays masked, because it may
 * still be in use.
 */
export class KnownSecrets {
  #taxIdFields: readonly string[] = []
  #taxIds: TaxIdKeys = taxIdKeys()
  #known: readonly string[] = []
  #inJson: readonly string[] = []

  /** @param taxIdFields further keys whose values are tax ids, in addition to the built-in keys. */
  constructor(secrets: readonly string[], taxIdFields: readonly string[] = []) {
    this.add(secrets, taxIdFields)
  }

  add(secrets: readonly string[], taxIdFields: readonly string[]): void {
    this.#taxIdFields = [...this.#taxIdFields, ...taxIdFields]
    this.#taxIds = taxIdKeys(this.#taxIdFields)
    this.#known = [...new Set([...this.#known, ...secrets])].filter((secret) => secret !== '')
    this.#inJson = this.#known.map((secret) => JSON.stringify(secret).slice(1, -1))
  }

  /** @returns plain text in which known secrets of any length, and the secret parts of URLs, are masked. */
  maskText(text: string): string {
    return withoutUrlSecrets(withoutSecrets(text, this.#known))
  }

  /** Masks secrets in a JSON line. @returns a line of valid JSON. */
  mask(given: string): string {
    const line = this.#withoutTaxIds(given)
    if (!MAYBE_SECRET.test(line) && !this.#inJson.some((secret) => line.includes(secret)) && withoutUrlSecrets(line) === line) return line
    const entries = Object.entries(JSON.parse(line) as Record<string, unknown>)
    const masked = entries.map(([key, value]) => (isFrame(key, value) ? [key, value] : this.#maskEntry(key, value)))
    return `${JSON.stringify(Object.fromEntries(masked))}\n`
  }

  #withoutTaxIds(line: string): string {
    const keys = this.#taxIds
    if (!keys.mayBeIn(line)) return line
    return rewriteJsonText(line, { keys, replace: (value) => (isHarmless(value, keys) ? value : `"${REDACTED}"`) })
  }

  #maskEntry(key: string, value: unknown): [string, unknown] {
    const hidden = SECRET_KEYS.has(key.toLowerCase().replace(/[_-]/g, ''))
    return [this.maskText(key), hidden ? REDACTED : this.#maskValue(value)]
  }

  #maskValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#maskValue(item))
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => this.#maskEntry(key, item)))
    }
    const text = String(value)
    const masked = this.maskText(text)
    return masked === text ? value : masked
  }
}

/**
 * True for the fields `level` and `time`, which log readers sort by. These fields are never masked, because a short
 * numeric secret could match a part of their values.
 */
function isFrame(key: string, value: unknown): boolean {
  return (key === 'level' && typeof value === 'number') || (key === 'time' && /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(String(value)))
}
