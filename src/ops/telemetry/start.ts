import { randomUUID } from 'node:crypto'
import { diag } from '@opentelemetry/api'
import { defaultResource, detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import type { Observer } from '../../base/observer.ts'
import type { Environment, Signals } from './environment.ts'
import { MetricSender } from './metric-sender.ts'
import { type ProblemParts, tellProblems } from './problems.ts'
import { SpanSender } from './span-sender.ts'

/** What goes to a collector besides the metrics that are asked for. */
export interface Telemetry {
  /** An observer that tells both the collector and another observer. */
  besides(observer: Observer): Observer
  /** Sends what is left. Never rejects. */
  close(): Promise<void>
}

/** Starts what sends the signals. The exporters read their endpoints, headers and limits from the environment themselves. */
export function startTelemetry(signals: Signals, env: Environment, version: string, parts: ProblemParts): Telemetry {
  // First: what is wrong in the environment is told when the exporters are made.
  tellProblems(env, parts)
  const resource = resourceOf(version)
  const spans = signals.traces ? new SpanSender(resource, env) : null
  const metrics = signals.metrics ? new MetricSender(resource, env) : null
  return {
    besides(observer) {
      const told = metrics?.besides(observer) ?? observer
      return spans === null ? told : { ...told, trace: (step) => spans.send(step) }
    },
    async close() {
      await Promise.allSettled([spans?.close(), metrics?.close()])
      diag.disable()
    },
  }
}

/** Each process is an instance of its own: its metrics are other series. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win. */
function resourceOf(version: string): Resource {
  const own = resourceFromAttributes({
    'service.name': 'submission-mirror',
    'service.version': version,
    'service.instance.id': randomUUID(),
  })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}
