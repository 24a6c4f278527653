import type { Meter } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import type { CounterName, GaugeName, Observer, TimerName } from '../../base/observer.ts'
import { bucketsOf, PREFIX } from '../metrics/metrics.ts'
import { type Environment, numberIn } from './environment.ts'

const INTERVAL_MS = 60_000

/**
 * Sends the metrics of the stages, under the same names as in `/metrics`.
 * Omits gauges that `/metrics` reads from the database.
 */
export class MetricSender {
  readonly #provider: MeterProvider
  readonly #meter: Meter

  constructor(resource: Resource, env: Environment) {
    const exportIntervalMillis = numberIn(env, 'OTEL_METRIC_EXPORT_INTERVAL') ?? INTERVAL_MS
    const timeout = { exportTimeoutMillis: Math.min(exportIntervalMillis, numberIn(env, 'OTEL_METRIC_EXPORT_TIMEOUT') ?? 30_000) }
    const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(), exportIntervalMillis, ...timeout })
    this.#provider = new MeterProvider({ resource, readers: [reader] })
    this.#meter = this.#provider.getMeter('submission-mirror')
  }

  besides(observer: Observer): Observer {
    const counter = once((name: CounterName) => this.#meter.createCounter(`${PREFIX}${name}`))
    const timer = once((name: TimerName) => {
      const advice = { explicitBucketBoundaries: [...bucketsOf(name)] }
      return this.#meter.createHistogram(`${PREFIX}${name}`, { unit: 's', advice })
    })
    const gauge = once((name: GaugeName) => this.#meter.createGauge(`${PREFIX}${name}`))
    return {
      ...observer,
      count: (name, labels, by = 1) => {
        observer.count(name, labels, by)
        counter(name).add(by, labels)
      },
      time: (name, seconds, labels) => {
        observer.time(name, seconds, labels)
        timer(name).record(seconds, labels)
      },
      set: (name, value, labels) => {
        observer.set(name, value, labels)
        gauge(name).record(value, labels)
      },
    }
  }

  async close(): Promise<void> {
    await this.#provider.shutdown()
  }
}

function once<N, T>(make: (name: N) => T): (name: N) => T {
  const made = new Map<N, T>()
  return (name) => {
    const known = made.get(name) ?? make(name)
    made.set(name, known)
    return known
  }
}
