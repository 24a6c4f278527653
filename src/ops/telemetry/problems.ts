import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { KnownSecrets, Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import { secretForms } from '../../base/secret.ts'
import { parsedJson } from '../../model/json.ts'
import type { Environment } from './environment.ts'

/** Parts for reporting problems of sending. */
export interface ProblemParts {
  readonly log: Log
  readonly clock: Pick<Clock, 'steady'>
  /** Secrets that the log masks. */
  readonly secrets: Pick<KnownSecrets, 'add'>
}

/** A shorter value would be masked inside unrelated words. */
const SHORTEST = 8

/** Logs warnings of OpenTelemetry at most once a minute, above all that a collector rejects data. */
export function logProblems(env: Environment, { log, clock, secrets }: ProblemParts): void {
  secrets.add(headerSecrets(env), [])
  const warnings = new OnceAMinute(clock, (text) => log.warn(text))
  const warn = (...parts: readonly unknown[]) =>
    warnings.tell(`OpenTelemetry: ${parts.map(textOf).join(' ')}. Check the collector and the variables OTEL_EXPORTER_OTLP_…`)
  const drop = () => undefined
  const logger: DiagLogger = { error: warn, warn, info: drop, debug: drop, verbose: drop }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

/** Values of the collector's headers, in each form in which a text may contain them. */
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

/** Errors arrive as JSON of all properties, including the body of an answer. */
function textOf(part: unknown): string {
  if (typeof part !== 'string') return messageOf(part)
  const error = parsedJson(part)
  if (typeof error !== 'object' || error === null || !('message' in error)) return part
  const code = 'code' in error ? ` (${error['code']})` : ''
  return `${error['message']}${code}`
}
