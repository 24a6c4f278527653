import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import { printable } from './printable.ts'
import { type TaxIdKeys, taxIdKeys } from './tax-ids.ts'

/** The program's log: one JSON line per thing that matters; see `createLog`. */
export type Log = Logger

export interface LogOptions {
  readonly level: string
  /** Readable lines, for a terminal, in place of JSON. */
  readonly pretty: boolean
  /** Values that must never be written, whole or inside another text: every secret that the settings hold. */
  readonly secrets: readonly string[] | KnownSecrets
  /** Where lines go; standard output when left out. */
  readonly destination?: DestinationStream
}

/** Keys, in lower case and without `_` and `-`, whose values are masked wherever they stand, as those of tax ids are. */
const SECRET_KEYS = new Set(['authorization', 'clientsecret', 'accesstoken', 'refreshtoken', 'secret', 'secrets', 'password', 'token'])

/** Whether a line may have such a key; a look at the whole line is cheap, taking it apart is not. */
const MAYBE_SECRET = /(?:authorization|secret|token|password)[a-z_-]*":/i

const MASK = '[redacted]'
/** Of lines that could not be written, no more is kept. */
const KEPT_BYTES = 1 << 20

/**
 * Makes the log. Invariant 12: neither a known secret value, in whatever text, nor a field known to hold a token, FEIN or SSN,
 * however deep, is written: every finished line is searched. (pino's own redaction knows fixed paths of keys only, and neither
 * messages nor errors.)
 */
export function createLog(options: LogOptions): Log {
  const destination =
    options.destination ?? (options.pretty ? pretty({ colorize: true, ignore: 'pid,hostname', sync: true }) : standardOutput())
  const known = options.secrets instanceof KnownSecrets ? options.secrets : new KnownSecrets(options.secrets)
  const masked: DestinationStream = {
    write(line: string) {
      // What is escaped above U+001F is JSON that says the same; JSON itself escapes the rest.
      const safe = printable(known.mask(line))
      destination.write(options.pretty ? shownAsText(safe) : safe)
    },
  }
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, masked)
}

/** @returns a line of JSON whose texts show their control characters, because what makes it readable takes the escapes of JSON away. */
function shownAsText(line: string): string {
  const texts = (_key: string, value: unknown) => (typeof value === 'string' ? printable(value) : value)
  return `${JSON.stringify(JSON.parse(line, texts))}\n`
}

/** What cannot be written, as to a file on a full disk, is no reason to stop: up to a limit it is kept, and written with what follows. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: KEPT_BYTES })
  output.on('error', () => {})
  return output
}

/**
 * What a log masks: values, and whatever stands under the keys of tax ids. What was ever known stays so: the settings may have dropped it,
 * and others still go by it.
 */
export class KnownSecrets {
  #taxIdFields: readonly string[] = []
  #taxIds: TaxIdKeys = taxIdKeys()
  #known: readonly string[] = []
  #inJson: readonly string[] = []
  #any: RegExp | null = null

  /** @param taxIdFields keys under which a tax id stands, beside those that are known. */
  constructor(secrets: readonly string[], taxIdFields: readonly string[] = []) {
    this.add(secrets, taxIdFields)
  }

  /** From the next line on these are masked too. */
  add(secrets: readonly string[], taxIdFields: readonly string[]): void {
    this.#taxIdFields = [...this.#taxIdFields, ...taxIdFields]
    this.#taxIds = taxIdKeys(this.#taxIdFields)
    // Longest first: of two secrets that begin alike the shorter would leave the rest of the longer.
    const known = [...new Set([...this.#known, ...secrets])].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
    this.#known = known
    this.#any = known.length > 0 ? new RegExp(known.map(escapeRegExp).join('|'), 'g') : null
    this.#inJson = known.map((secret) => JSON.stringify(secret).slice(1, -1))
  }

  /** @returns a text that is no JSON without the values. */
  maskText(text: string): string {
    return this.#any ? text.replace(this.#any, MASK) : text
  }

  /** @returns a line of JSON without what must not be written, which stays one. */
  mask(line: string): string {
    const keyed = MAYBE_SECRET.test(line) || this.#taxIds.inJson.test(line)
    if (!keyed && !this.#inJson.some((secret) => line.includes(secret))) return line
    const entries = Object.entries(JSON.parse(line) as Record<string, unknown>)
    const masked = entries.map(([key, value]) => (isFrame(key, value) ? [key, value] : this.#maskEntry(key, value)))
    return `${JSON.stringify(Object.fromEntries(masked))}\n`
  }

  #maskEntry(key: string, value: unknown): [string, unknown] {
    const hidden = SECRET_KEYS.has(key.toLowerCase().replace(/[_-]/g, '')) || this.#taxIds.has(key)
    return [this.maskText(key), hidden ? MASK : this.#maskValue(value)]
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

/** What every line has and readers of the log sort by: a secret of a few digits must not break it. */
function isFrame(key: string, value: unknown): boolean {
  return (key === 'level' && typeof value === 'number') || (key === 'time' && /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(String(value)))
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
