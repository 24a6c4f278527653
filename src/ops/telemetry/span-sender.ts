import { hash, randomBytes } from 'node:crypto'
import { type Link, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { DeliveryName, TracedStep } from '../../base/observer.ts'
import { type Environment, numberIn } from './environment.ts'

const KINDS = { delivery: SpanKind.SERVER, apply: SpanKind.INTERNAL, push: SpanKind.CLIENT } as const
const PARENTS = { delivery: null, apply: 'delivery', push: 'apply' } as const

/**
 * Sends the steps of deliveries as spans.
 * The ids of a trace and of its spans `delivery` and `apply` are hashes of account and delivery id.
 * Processes therefore don't need to exchange ids.
 */
export class SpanSender {
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  /** Ids that the next span gets. */
  #next = { traceId: '', spanId: '' }

  constructor(resource: Resource, env: Environment) {
    const scheduledDelayMillis = numberIn(env, 'OTEL_BSP_SCHEDULE_DELAY')
    this.#provider = new TracerProvider({
      resource,
      sampler: samplerOf(env),
      idGenerator: { generateTraceId: () => this.#next.traceId, generateSpanId: () => this.#next.spanId },
      spanProcessors: [
        new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...(scheduledDelayMillis && { scheduledDelayMillis }) }),
      ],
    })
    this.#tracer = this.#provider.getTracer('submission-mirror')
  }

  send({ name, of, orOf = [], startMs, endMs, failed, attributes }: TracedStep): void {
    this.#next = { traceId: traceIdOf(of), spanId: name === 'push' ? randomBytes(8).toString('hex') : spanIdOf(name, of) }
    const above = PARENTS[name]
    const parent = above === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(above, of))
    const links: Link[] = orOf.map((other) => ({ context: contextOf('apply', other) }))
    const named = { account: of.account, 'delivery.id': of.deliveryId, ...attributes }
    const span = this.#tracer.startSpan(name, { kind: KINDS[name], startTime: startMs, attributes: named, links }, parent)
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endMs)
  }

  async close(): Promise<void> {
    await this.#provider.shutdown()
  }
}

/** @returns the trace id of a delivery: 16 bytes as hexadecimal digits. */
function traceIdOf({ account, deliveryId }: DeliveryName): string {
  return hash('sha256', JSON.stringify([account, deliveryId])).slice(0, 32)
}

function spanIdOf(name: TracedStep['name'], { account, deliveryId }: DeliveryName): string {
  return hash('sha256', JSON.stringify([name, account, deliveryId])).slice(0, 16)
}

function contextOf(name: TracedStep['name'], of: DeliveryName): SpanContext {
  return { traceId: traceIdOf(of), spanId: spanIdOf(name, of), traceFlags: TraceFlags.SAMPLED, isRemote: true }
}

/**
 * @returns the sampler that OTEL_TRACES_SAMPLER selects.
 * The prefix `parentbased_` makes no difference, because traces have no parent outside the program.
 */
function samplerOf(env: Environment): Sampler {
  const name = env['OTEL_TRACES_SAMPLER']?.replace('parentbased_', '')
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(numberIn(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1) : new AlwaysOnSampler()
}
