import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { KnownSecrets, Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import { secretForms } from '../../base/secret.ts'
import { parsedJson } from '../../model/json.ts'
import type { Environment } from './environment.ts'

/** What `logProblems` needs. */
export interface ProblemParts {
  readonly log: Log
  readonly clock: Pick<Clock, 'steady'>
  /** Secrets that the log masks. `logProblems` adds the values of the collector's headers. */
  readonly secrets: Pick<KnownSecrets, 'add'>
}

/** Minimum characters of a masked secret. A shorter secret would also be masked inside unrelated words. */
const SHORTEST = 8

/** Logs warnings and errors of OpenTelemetry at most once a minute, for example if a collector rejects data. */
export function logProblems(env: Environment, { log, clock, secrets }: ProblemParts): void {
  secrets.add(headerSecrets(env), [])
  const warnings = new OnceAMinute(clock, (text) => log.warn(text))
  const warn = (...parts: readonly unknown[]) =>
    warnings.tell(`OpenTelemetry: ${parts.map(textOf).join(' ')}. Check the collector and the variables OTEL_EXPORTER_OTLP_…`)
  const drop = () => undefined
  const logger: DiagLogger = { error: warn, warn, info: drop, debug: drop, verbose: drop }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

/** @returns the values of the collector's headers, in every form that a log line may contain. */
function headerSecrets(env: Environment): string[] {
  const lists = ['', 'TRACES_', 'METRICS_'].map((signal) => env[`OTEL_EXPORTER_OTLP_${signal}HEADERS`] ?? '')
  const values = lists.flatMap((list) => list.split(',')).map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
  const forms = values.flatMap((value) => [value, decoded(value)]).flatMap((value) => [value, ...value.split(' ')])
  return forms.flatMap((form) => [...secretForms(form, [])]).filter((form) => form.length >= SHORTEST)
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/**
 * @returns the message and code of a problem. OpenTelemetry passes errors as JSON with all properties.
 * The other properties are omitted, because they may include a body.
 */
function textOf(part: unknown): string {
  if (typeof part !== 'string') return messageOf(part)
  const error = parsedJson(part)
  if (typeof error !== 'object' || error === null || !('message' in error)) return part
  const code = 'code' in error ? ` (${error['code']})` : ''
  return `${error['message']}${code}`
}
