import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly Attribute[]
  readonly links?: readonly unknown[]
}

interface Resource {
  readonly attributes: readonly Attribute[]
}

interface CollectedMetric {
  readonly name: string
  readonly histogram?: { readonly dataPoints: readonly { readonly explicitBounds: readonly number[] }[] }
}

interface Sent {
  readonly resourceSpans?: readonly {
    readonly resource: Resource
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[]
  }[]
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly CollectedMetric[] }[] }[]
}

export interface Collector {
  readonly url: string
  readonly spans: CollectedSpan[]
  readonly metrics: Map<string, readonly number[] | null>
  readonly resource: Map<string, unknown>
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const metrics: Collector['metrics'] = new Map()
  const resource = new Map<string, unknown>()
  const server = createServer(async (request, response) => {
    const sent = (await json(request)) as Sent
    for (const each of sent.resourceSpans ?? []) {
      for (const { key, value } of each.resource.attributes) resource.set(key, Object.values(value)[0])
      spans.push(...each.scopeSpans.flatMap((scope) => scope.spans))
    }
    for (const { scopeMetrics } of sent.resourceMetrics ?? [])
      for (const { name, histogram } of scopeMetrics.flatMap((scope) => scope.metrics))
        metrics.set(name, histogram?.dataPoints[0]?.explicitBounds ?? null)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, metrics, resource }
}

export function attributesOf({ attributes }: CollectedSpan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
