import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import { TransientError } from './errors.ts'
import { printable } from './printable.ts'
import { REDACTED, withoutSecrets, withoutUrlSecrets } from './secret.ts'
import { isHarmless, rewriteJsonText } from './tax-id-text.ts'
import { type TaxIdKeys, taxIdKeys } from './tax-ids.ts'

/** The program's log, one JSON line per entry; see `createLog`. */
export type Log = Logger

export interface LogOptions {
  readonly level: string
  /** Readable lines for a terminal instead of JSON. */
  readonly pretty: boolean
  /** Values that must never be written, alone or inside other text: every secret in the settings. */
  readonly secrets: readonly string[] | KnownSecrets
  /** Where lines go. Default: standard output. */
  readonly destination?: DestinationStream
}

/** Keys, in lower case without `_` and `-`, whose values are masked at any depth. */
const SECRET_KEYS = new Set(['authorization', 'clientsecret', 'accesstoken', 'refreshtoken', 'secret', 'secrets', 'password', 'token'])

/** Cheap test for such a key; parsing every line would be expensive. */
const MAYBE_SECRET = /(?:authorization|secret|token|password)[a-z_-]*":/i

/** Limit of lines kept while they cannot be written. */
const KEPT_BYTES = 1 << 20

/**
 * Creates the log. It never writes a known secret, or a field known to contain a token, FEIN or SSN (invariant 12). Every finished line is
 * searched, because pino's own redaction covers neither messages nor errors.
 */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? (options.pretty ? pretty({ ignore: 'pid,hostname', sync: true }) : standardOutput())
  const known = options.secrets instanceof KnownSecrets ? options.secrets : new KnownSecrets(options.secrets)
  const masked: DestinationStream = {
    write(line: string) {
      // JSON escapes control characters up to U+001F itself. Escaping the others keeps the line valid and its meaning unchanged.
      const safe = printable(known.mask(validJson(line)))
      destination.write(options.pretty ? shownAsText(safe) : safe)
    },
  }
  const { isoTime } = pino.stdTimeFunctions
  return pino({ level: options.level, base: null, timestamp: isoTime, serializers: { err: shownError } }, masked)
}

/** Numbers that JSON lacks. */
const BARE_NUMBER = /(?<=[[:,])-?(?:Infinity|NaN)(?=[\]},])/g

/** @returns the line as JSON: after a bigint, pino's library writes the numbers of a typed array unescaped. */
function validJson(line: string): string {
  if (line.search(BARE_NUMBER) === -1) return line
  try {
    JSON.parse(line)
    return line
  } catch {
    return line.replace(BARE_NUMBER, 'null')
  }
}

/** Leaves out the stack of an environment error, which is noise, and the details that Postgres adds to an error, which repeat the row. */
function shownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { stack, detail: _row, where: _place, ...rest } = pino.stdSerializers.err(error)
  const isOfSystem = 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)
  return error instanceof TransientError || isOfSystem ? rest : { stack, ...rest }
}

/** Makes control characters inside texts visible, because pretty-printing removes JSON's escapes. */
function shownAsText(line: string): string {
  const texts = (_key: string, value: unknown) => (typeof value === 'string' ? printable(value) : value)
  return `${JSON.stringify(JSON.parse(line, texts))}\n`
}

/** Standard output that survives write errors, such as a full disk: lines are kept up to a limit and written later. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: KEPT_BYTES })
  output.on('error', () => {})
  return output
}

/** Masks secrets and the values of tax-id keys. A secret stays masked after it leaves the settings, because others may still use it. */
export class KnownSecrets {
  #taxIdFields: readonly string[] = []
  #taxIds: TaxIdKeys = taxIdKeys()
  #known: readonly string[] = []
  #inJson: readonly string[] = []

  /** @param taxIdFields keys of tax ids besides the built-in ones. */
  constructor(secrets: readonly string[], taxIdFields: readonly string[] = []) {
    this.add(secrets, taxIdFields)
  }

  add(secrets: readonly string[], taxIdFields: readonly string[]): void {
    this.#taxIdFields = [...this.#taxIdFields, ...taxIdFields]
    this.#taxIds = taxIdKeys(this.#taxIdFields)
    this.#known = [...new Set([...this.#known, ...secrets])].filter((secret) => secret !== '')
    this.#inJson = this.#known.map((secret) => JSON.stringify(secret).slice(1, -1))
  }

  /** @returns plain text with secrets masked, also those found by their position in URLs, which may be too short to be known. */
  maskText(text: string): string {
    return withoutUrlSecrets(withoutSecrets(text, this.#known))
  }

  /** @returns a JSON line with secrets masked, still valid JSON. */
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

/** Fields of every line that log readers sort by. A secret of a few digits must not break them. */
function isFrame(key: string, value: unknown): boolean {
  return (key === 'level' && typeof value === 'number') || (key === 'time' && /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(String(value)))
}
