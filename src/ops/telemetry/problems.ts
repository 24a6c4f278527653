import { type DiagLogger, DiagLogLevel, diag } from '@opentelemetry/api'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { KnownSecrets, Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import { secretForms } from '../../base/secret.ts'
import { parsedJson } from '../../model/json.ts'
import type { Environment } from './environment.ts'

/** Where problems of sending are told. */
export interface ProblemParts {
  readonly log: Log
  readonly clock: Pick<Clock, 'steady'>
  /** What the log masks. */
  readonly secrets: Pick<KnownSecrets, 'add'>
}

/** A shorter value would be masked within words that have nothing to do with it. */
const SHORTEST = 8

/** Has the log tell, at most once a minute, what OpenTelemetry warns of: above all that a collector does not take what it is sent. */
export function tellProblems(env: Environment, { log, clock, secrets }: ProblemParts): void {
  secrets.add(headerSecrets(env), [])
  const told = new OnceAMinute(clock, (text) => log.warn(text))
  const tell = (...said: readonly unknown[]) =>
    told.tell(`OpenTelemetry: ${said.map(textOf).join(' ')}. Check the collector and the variables OTEL_EXPORTER_OTLP_…`)
  const drop = () => undefined
  const logger: DiagLogger = { error: tell, warn: tell, info: drop, debug: drop, verbose: drop }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

/** Values of the headers that a collector is sent, in each form in which a text may have them. */
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

/** An error comes as the JSON of all its properties, of which the body of an answer is one. */
function textOf(said: unknown): string {
  if (typeof said !== 'string') return messageOf(said)
  const error = parsedJson(said)
  if (typeof error !== 'object' || error === null || !('message' in error)) return said
  const code = 'code' in error ? ` (${error['code']})` : ''
  return `${error['message']}${code}`
}
