import { randomUUID } from 'node:crypto'
import { diag } from '@opentelemetry/api'
import { defaultResource, detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import type { Observer } from '../../base/observer.ts'
import type { Environment, Signals } from './environment.ts'
import { MetricSender } from './metric-sender.ts'
import { logProblems, type ProblemParts } from './problems.ts'
import { SpanSender } from './span-sender.ts'

/** Sends traces and metrics to a collector. */
export interface Telemetry {
  /** @returns an observer that reports to `observer` and to the collector. */
  besides(observer: Observer): Observer
  /** Sends the remaining data. Never rejects. */
  close(): Promise<void>
}

/** Starts sending signals. The exporters read endpoints, headers and limits from the environment. */
export function startTelemetry(signals: Signals, env: Environment, version: string, parts: ProblemParts): Telemetry {
  // Do this first, because creating the exporters already reports problems of the environment.
  logProblems(env, parts)
  const resource = resourceOf(version)
  const spans = signals.traces ? new SpanSender(resource, env) : null
  const metrics = signals.metrics ? new MetricSender(resource, env) : null
  return {
    besides(observer) {
      const both = metrics?.besides(observer) ?? observer
      return spans === null ? both : { ...both, trace: (step) => spans.send(step) }
    },
    async close() {
      await Promise.allSettled([spans?.close(), metrics?.close()])
      diag.disable()
    },
  }
}

/**
 * @returns the attributes of this process. Each process has its own instance id, which keeps metric series apart.
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
 */
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
