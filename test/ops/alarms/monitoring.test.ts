import { readFile } from 'node:fs/promises'
import type { Gauge } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type AlarmName, alarmNames, alarms as rules, runbookOf } from '../../../src/ops/health/problems.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { StoreGauges } from '../../../src/ops/metrics/store-gauges.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../../e2e/serve.ts'
import { type OpenedDatabase, silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { sectionsOf } from '../../tools/markdown.ts'
import { until } from '../../tools/until.ts'
import { type Expression, readExpression } from './promql.ts'

const OF_PROMETHEUS = ['job', 'instance']

interface PrometheusRule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string }
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[] }
}

async function read(path: string): Promise<string> {
  return await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')
}

const alerts = parse(await read('docker/prometheus/alerts.yaml')) as { groups: { name: string; rules: PrometheusRule[] }[] }
const dashboard = JSON.parse(await read('docker/grafana/dashboard.json')) as Dashboard
const promRules = alerts.groups.flatMap((group) => group.rules)
const pascal = (name: string) => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Sections of the runbook and its pages of warnings, by link. */
const sections = new Map<string, string>()
for (const page of ['docker/runbook.md', 'docker/warnings-data.md', 'docker/warnings-service.md'])
  for (const [anchor, section] of sectionsOf(await read(page))) sections.set(`${page}#${anchor}`, section)

describe('the rules for Prometheus and the dashboard, against a running product', () => {
  let opened: OpenedDatabase
  let sandbox: Sandbox
  let serve: ServeProcess
  const served = new Set<string>()
  const labelsOf = new Map<string, readonly string[]>()

  beforeAll(async () => {
    opened = await sqliteDatabase.open()
    sandbox = await startSandbox({ submissions: 1, autoStart: false })
    serve = await startServe({ ...accountEnv(sandbox), ...databaseEnv(opened.config) })
    for (const [, name = ''] of (await (await fetch(`${serve.ops}/metrics`)).text()).matchAll(/^# TYPE (\w+) /gm)) served.add(name)
    const { registry } = createMetrics()
    new StoreGauges(registry, opened.db, silentLog, () => ({ accounts: [] }), { storeFault: async () => null })
    for (const { name } of registry.getMetricsAsArray()) {
      const metric = registry.getSingleMetric(name) as Gauge & { readonly labelNames: readonly string[] }
      labelsOf.set(name, metric.labelNames)
    }
  })

  afterAll(async () => {
    await serve.stop()
    await sandbox.close()
    await opened.close()
  })

  function unknownIn({ series, groupedBy }: Expression): string[] {
    const metrics = series.filter(({ name }) => name !== 'up')
    const names = metrics.filter(({ name }) => !served.has(name)).map(({ name }) => name)
    const known = (name: string) => [...(labelsOf.get(name) ?? []), ...OF_PROMETHEUS]
    const labels = metrics.flatMap(({ name, labels: used }) =>
      used.filter((label) => !known(name).includes(label)).map((label) => `${name}{${label}}`),
    )
    const grouping = groupedBy.filter((label) => label !== 'le' && !metrics.some(({ name }) => known(name).includes(label)))
    return [...names, ...labels, ...grouping.map((label) => `by (${label})`)]
  }

  it('read only metrics and labels that there are', () => {
    const expressions = [
      ...promRules.map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ]
    expect(expressions.length).toBeGreaterThan(50)
    for (const expression of expressions) expect(unknownIn(readExpression(expression)), expression).toEqual([])
    const [, variable] = dashboard.templating.list
    expect(variable?.definition).toBe('label_values(submission_mirror_account_state, account)')
    expect(labelsOf.get('submission_mirror_account_state')).toContain('account')
  })

  it('would notice a metric or a label that there is not', () => {
    expect(unknownIn(readExpression('sum by (account) (rate(submission_mirror_deliveries{nothing="1"}[5m]))'))).toEqual([
      'submission_mirror_deliveries',
      'submission_mirror_deliveries{nothing}',
      'by (account)',
    ])
    expect(() => readExpression('max(submission_mirror_alarm')).toThrow('not closed')
  })

  it('show the first rejection of a credential as an increase: the series exists before', async () => {
    const text = await (await fetch(`${serve.ops}/metrics`)).text()
    expect(text).toContain('submission_mirror_token_mints_total{account="default",outcome="refused"} 0')
  })

  it('see alarms, and when they were looked for', async () => {
    const text = await until('it has looked', async () => {
      const metrics = await (await fetch(`${serve.ops}/metrics`)).text()
      return metrics.includes('submission_mirror_alarms_age_seconds ') && metrics
    })
    for (const name of alarmNames) expect(text).toContain(`submission_mirror_alarm{name="${name}",severity="${rules[name].severity}"`)
    expect(text).toMatch(/^submission_mirror_alarms_age_seconds \d/m)
  })
})

describe('the rules for Prometheus', () => {
  it('are one for each alarm, with its severity, and name a place of the runbook', () => {
    for (const name of alarmNames) {
      const rule = promRules.find(({ alert }) => alert === `SubmissionMirror${pascal(name)}`)
      expect(rule?.expr, name).toBe(`max by (job, account, destination) (submission_mirror_alarm{name="${name}"}) == 1`)
      expect([rule?.labels.severity, rule?.annotations.summary, rule?.annotations.runbook], name).toEqual([
        rules[name].severity,
        rules[name].title,
        runbookOf(name),
      ])
    }
    const own = ['Down', 'StoreDown', 'NotWatched', 'AlertNotSent', 'CredentialRejected'].map((name) => `SubmissionMirror${name}`)
    expect(promRules.map(({ alert }) => alert).sort()).toEqual(
      [...own, ...alarmNames.map((name) => `SubmissionMirror${pascal(name)}`)].sort(),
    )
    for (const { annotations } of promRules) expect([...sections.keys()]).toContain(annotations.runbook)
  })

  it('fire also when there is nothing to read, or nothing to compare with', () => {
    const exprOf = (name: string) => promRules.find(({ alert }) => alert === `SubmissionMirror${name}`)?.expr
    expect(exprOf('Down')).toMatch(/ or absent\(up\{job="submission-mirror"\}\)$/)
    expect(exprOf('NotWatched')).toMatch(/ or absent\(submission_mirror_alarms_age_seconds\)$/)
    expect(exprOf('CredentialRejected')).toMatch(/ or sum by \(job, account\) \((\S+) unless \1 offset 1h\) > 0$/)
  })

  it('belong to the settings of the scrape', async () => {
    const settings = parse(await read('docker/prometheus/prometheus.yaml')) as {
      rule_files: string[]
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[]
    }
    expect(settings.rule_files).toEqual(['alerts.yaml'])
    expect(settings.scrape_configs).toEqual([{ job_name: 'submission-mirror', static_configs: [{ targets: ['mirror:8081'] }] }])
  })
})

describe('the dashboard', () => {
  it('is a whole model of Grafana, whose panels do not overlap', () => {
    expect(dashboard).toMatchObject({ uid: 'submission-mirror', title: 'submission-mirror' })
    expect(dashboard.templating.list.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['account', 'query'],
    ])
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { type, title, description, gridPos, targets } of panels) {
      const { h, w, x, y } = gridPos
      expect(x + w, title).toBeLessThanOrEqual(24)
      for (let row = y; row < y + h; row++) {
        for (let column = x; column < x + w; column++) {
          expect(taken.has(`${row} ${column}`), title).toBe(false)
          taken.add(`${row} ${column}`)
        }
      }
      if (type === 'row') continue
      expect(description, title).toMatch(/\.$/)
      expect(
        targets?.map(({ refId }) => refId),
        title,
      ).toEqual(targets?.map((_, index) => String.fromCharCode(65 + index)))
    }
  })
})

describe('the runbook', () => {
  it('has a row and a section for each alarm, and for nothing else', () => {
    const alarms = sections.get('docker/runbook.md#which-alarm-fires-when') ?? ''
    const rows = [...alarms.matchAll(/^\| `(\w+)` \| (.+) \| \[(.+)\]\(([\w.-]*#[\w-]+)\) \|$/gm)]
    expect(rows.map(([, name]) => name).sort()).toEqual([...alarmNames].sort())
    for (const [, name, when, heading, link = ''] of rows) {
      const rule = rules[name as AlarmName]
      const minutes = rule.forMs / 60_000
      if (minutes > 0) expect(when, name).toMatch(new RegExp(`for ${minutes} minutes?$`))
      const place = `docker/${link.startsWith('#') ? 'runbook.md' : ''}${link}`
      expect([heading, place], name).toEqual([rule.runbook, runbookOf(name as AlarmName)])
      expect(sections.get(place), name).toContain(`Alarm \`${name}\``)
    }
    const described = [...sections.values()].flatMap((text) => [...text.matchAll(/^Alarm `(\w+)`/gm)].map((match) => match[1] ?? ''))
    expect(described.sort()).toEqual([...alarmNames].sort())
  })
})
