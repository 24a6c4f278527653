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
  /** Readable lines for a terminal, in place of JSON. */
  readonly pretty: boolean
  /** Values that must never be written, alone or inside other text: every secret in the settings. */
  readonly secrets: readonly string[] | KnownSecrets
  /** Where lines go; standard output by default. */
  readonly destination?: DestinationStream
}

/** Keys, in lower case without `_` and `-`, whose values are masked at any depth. */
const SECRET_KEYS = new Set(['authorization', 'clientsecret', 'accesstoken', 'refreshtoken', 'secret', 'secrets', 'password', 'token'])

/** Cheap test of the whole line for such a key; parsing every line would be expensive. */
const MAYBE_SECRET = /(?:authorization|secret|token|password)[a-z_-]*":/i

/** Limit of lines kept while they cannot be written. */
const KEPT_BYTES = 1 << 20

/**
 * Creates the log. Invariant 12: neither a known secret, in any text, nor a field known to hold a token, FEIN or SSN, at any depth, is written.
 * Every finished line is searched, because pino's own redaction knows only fixed paths, and neither messages nor errors.
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

/** What no JSON has, in the place of a value. */
const BARE_NUMBER = /(?<=[[:,])-?(?:Infinity|NaN)(?=[\]},])/g

/** @returns the line as JSON: beside a bigint, pino's library writes the numbers of a typed array as they are. */
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
 * An error as a log line has it. The stack of an error of the environment is left out because it says nothing, and what Postgres adds to an
 * error of its own because it repeats the row that was written.
 */
function shownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { stack, detail: _row, where: _place, ...rest } = pino.stdSerializers.err(error)
  const isOfSystem = 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)
  return error instanceof TransientError || isOfSystem ? rest : { stack, ...rest }
}

/** @returns the line with visible control characters inside its texts: pretty-printing removes JSON's escapes. */
function shownAsText(line: string): string {
  const texts = (_key: string, value: unknown) => (typeof value === 'string' ? printable(value) : value)
  return `${JSON.stringify(JSON.parse(line, texts))}\n`
}

/** Standard output that survives write errors, such as a file on a full disk: lines are kept up to a limit and written later. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: KEPT_BYTES })
  output.on('error', () => {})
  return output
}

/**
 * Masks secrets and the values of tax-id keys. Secrets once known stay masked, even after the settings have dropped them, because others may
 * still use them.
 */
export class KnownSecrets {
  #taxIdFields: readonly string[] = []
  #taxIds: TaxIdKeys = taxIdKeys()
  #known: readonly string[] = []
  #inJson: readonly string[] = []

  /** @param taxIdFields keys of tax ids, beside the built-in ones. */
  constructor(secrets: readonly string[], taxIdFields: readonly string[] = []) {
    this.add(secrets, taxIdFields)
  }

  /** Masks these too, from the next line on. */
  add(secrets: readonly string[], taxIdFields: readonly string[]): void {
    this.#taxIdFields = [...this.#taxIdFields, ...taxIdFields]
    this.#taxIds = taxIdKeys(this.#taxIdFields)
    this.#known = [...new Set([...this.#known, ...secrets])].filter((secret) => secret !== '')
    this.#inJson = this.#known.map((secret) => JSON.stringify(secret).slice(1, -1))
  }

  /** @returns plain text with secrets masked, and by their places those in URLs, which may be too short to be known. */
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
