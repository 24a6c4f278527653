import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

/** The program's log: one JSON line per thing that matters; see `createLog`. */
export type Log = Logger

export interface LogOptions {
  readonly level: string
  /** Readable lines in place of JSON. */
  readonly pretty: boolean
  /** Values that must never be written, whole or inside another text: every secret that the settings hold. */
  readonly secrets: readonly string[]
  /** Where lines go; standard output when left out. */
  readonly destination?: DestinationStream
}

/** Keys whose values are masked wherever they stand in the first levels of a logged object. */
const REDACTED_KEYS = [
  'authorization',
  'client_secret',
  'clientSecret',
  'access_token',
  'accessToken',
  'refresh_token',
  'secret',
  'secrets',
  'password',
  'token',
  'fein_or_ssn',
  'fein',
  'ssn',
]

const MASK = '[redacted]'

/**
 * Makes the log. Invariant 12: neither a known secret value nor a field known to hold a token, FEIN or SSN is written,
 * however deep it lies: pino's own redaction covers keys to the third level, and every finished line is searched for
 * the secret values themselves.
 */
export function createLog(options: LogOptions): Log {
  const paths = REDACTED_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])
  const secrets = options.secrets.filter((s) => s.length > 0).flatMap((s) => [s, JSON.stringify(s).slice(1, -1)])
  const destination =
    options.destination ??
    (options.pretty ? pretty({ colorize: true, ignore: 'pid,hostname', sync: true }) : pino.destination({ dest: 1, sync: true }))
  const masked: DestinationStream = {
    write(line: string) {
      destination.write(mask(line, secrets))
    },
  }
  return pino({ level: options.level, base: null, redact: { paths, censor: MASK }, timestamp: pino.stdTimeFunctions.isoTime }, masked)
}

function mask(line: string, secrets: readonly string[]): string {
  let out = line
  for (const secret of secrets) if (out.includes(secret)) out = out.replaceAll(secret, MASK)
  return out
}
