import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { createLog, KnownSecrets } from '../../../src/base/log.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { bucketsOf } from '../../../src/ops/metrics/metrics.ts'
import { signalsIn } from '../../../src/ops/telemetry/environment.ts'
import { openTelemetry } from '../../../src/ops/telemetry/telemetry.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../../e2e/serve.ts'
import { postSigned } from '../../e2e/signed.ts'
import { Hooks } from '../../push/hooks.ts'
import { testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { attributesOf, startCollector } from './collector.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const DELIVERY = 'msg_traced'
const PERSONAL = 'Jane Roe of Acme Bakery'

async function serveOnce(database: (typeof testDatabases)[number], telemetry: Readonly<Record<string, string>>, pushed: () => boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-telemetry-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const opened = await closedAtEnd(database.open())
  const sandbox = await closedAtEnd(startSandbox({ submissions: 1, autoStart: false, seed: 'telemetry' }))
  const hooks = await closedAtEnd(Hooks.start(SECRET))
  const settings = join(folder, 'mirror.yaml')
  const destination = {
    name: 'ams',
    kind: 'webhook',
    url: hooks.urlOf('ams'),
    secret: '${AMS_SECRET}',
    allow_private: true,
    backfill: true,
  }
  writeFileSync(settings, JSON.stringify({ destinations: [{ ...destination, entities: ['thread_messages'] }] }))
  const loads = join(folder, 'loads')
  writeFileSync(loads, '')
  const environment = {
    ...databaseEnv(opened.config),
    ...accountEnv(sandbox),
    CONFIG_FILE: settings,
    AMS_SECRET: SECRET,
    LOADS: loads,
    NODE_OPTIONS: `--import=${new URL('noting-loads.mjs', import.meta.url)}`,
    ...telemetry,
  }
  // Runs the source, because a bundle doesn't show what it loads.
  const running = await startServe(environment, ':', fileURLToPath(new URL('../../../src/main.ts', import.meta.url)))
  onTestFinished(() => running.kill())
  const submissionId = sandbox.addSubmission('default')
  const message = sandbox.addMessage('default', submissionId, { body_text: PERSONAL }, { quiet: true })
  const body = JSON.stringify({ type: 'submission.message', submission_id: submissionId, message })
  const { status } = await postSigned(`${running.receiver}/webhooks`, sandbox.account('default').webhookSecret, body, DELIVERY)
  expect(status).toBe(204)
  await until('the message is pushed and reported', () => hooks.arrivals.length > 0 && pushed())
  expect(await running.stop()).toBe(0)
  return readFileSync(loads, 'utf8').split('\n').filter(Boolean)
}

describe.each(testDatabases)('OpenTelemetry, on $name', (database) => {
  it('is sent one trace from a delivery through apply to its push, without personal values, and the metrics', async () => {
    const collector = await startCollector()
    const loaded = await serveOnce(
      database,
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_METRIC_EXPORT_INTERVAL: '200',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.version=ours',
      },
      () => collector.spans.some(({ name }) => name === 'push') && collector.metrics.size > 5,
    )
    expect(loaded.length).toBeGreaterThan(0)
    const [delivery, apply, push, ...others] = ['delivery', 'apply', 'push'].map((name) =>
      collector.spans.find((span) => span.name === name),
    )
    expect(others).toEqual([])
    expect(new Set([delivery, apply, push].map((span) => span?.traceId)).size).toBe(1)
    expect(delivery?.parentSpanId ?? '').toBe('')
    expect([apply?.parentSpanId, push?.parentSpanId]).toEqual([delivery?.spanId, apply?.spanId])
    if (!delivery || !push) throw new Error('a step was not reported')
    expect(attributesOf(delivery)).toMatchObject({ account: 'default', 'delivery.id': DELIVERY })
    expect(attributesOf(push)).toMatchObject({ destination: 'ams', entity: 'thread_messages', operation: 'insert', outcome: 'delivered' })
    expect(JSON.stringify(collector.spans)).not.toContain(PERSONAL)
    expect(Object.fromEntries(collector.resource)).toMatchObject({
      'service.name': 'submission-mirror',
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
      'service.version': 'ours',
      'deployment.environment.name': 'test',
    })
    expect(collector.metrics.get('submission_mirror_deliveries_total')).toBe(null)
    expect(collector.metrics.get('submission_mirror_acknowledge_seconds')).toEqual(bucketsOf('acknowledge_seconds'))
  })

  it('is not loaded where no collector is named', async () => {
    expect(await serveOnce(database, {}, () => true)).toEqual([])
  })
})

it('a rejection by a collector is logged at most once a minute, without the request headers', async () => {
  const collector = createServer((request, response) => response.writeHead(401, `not ${request.headers.authorization}`).end('{}'))
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  onTestFinished(() => void collector.close())
  const lines: string[] = []
  const secrets = new KnownSecrets([])
  const log = createLog({ level: 'info', pretty: false, secrets, destination: { write: (line: string) => void lines.push(line) } })
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20token-of-a-collector,x-tenant=acme',
  }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const _ of ['a process', 'another']) {
    const telemetry = await openTelemetry(env, '0.0.0', { log, clock: new ManualClock(0), secrets })
    const observer = telemetry?.besides(silentObserver)
    observer?.count('reloads_total', { outcome: 'applied' })
    const of = { account: 'acme', deliveryId: DELIVERY }
    observer?.trace?.({ name: 'delivery', of, startMs: 0, endMs: 1, failed: false, attributes: {} })
    await telemetry?.close()
  }
  expect(lines).toEqual(Array.from({ length: 2 }, () => expect.stringMatching(/"msg":"OpenTelemetry: .*not \[redacted\].*\. Check /)))
  expect(lines.join()).not.toContain('token-of-a-collector')
})

describe('settings in the environment', () => {
  it.each([
    [{}, false, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, true, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }, true, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c:4318/v1/metrics' }, false, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' }, false, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }, false, false],
  ])('%j', (env, traces, metrics) => {
    expect(signalsIn(env)).toEqual({ traces, metrics })
  })
})
