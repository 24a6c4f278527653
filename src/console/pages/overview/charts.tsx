import { useQuery } from '@tanstack/react-query'
import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { historyQuery, type Window, windows } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { count, counted, seconds } from '../../parts/numbers.ts'
import { QueryState } from '../../parts/states.tsx'
import { huesOf } from './hues.ts'
import { type Line, SmallChart } from './small-chart.tsx'

type History = Schemas['History']

const names: Readonly<Record<Window, string>> = { '1h': 'Last hour', '24h': 'Last day', '7d': 'Last week', '30d': 'Last month' }

const spans: Readonly<Record<Window, string>> = { '1h': 'hour', '24h': 'day', '7d': 'week', '30d': 'month' }

export function Charts() {
  const [search, set] = useAddress()
  const window = windows.find((each) => each === search['window']) ?? '1h'
  const query = useQuery(historyQuery(window))
  const toggles = windows.map((each) => (
    <button
      key={each}
      type="button"
      className="toggle quiet table-text"
      aria-pressed={each === window}
      onClick={() => set({ window: each === '1h' ? '' : each })}
    >
      {names[each]}
    </button>
  ))
  return (
    <Section title="Recent activity" actions={toggles}>
      <QueryState query={query} rows={4}>
        {(history) => <Four history={history} span={spans[window]} />}
      </QueryState>
    </Section>
  )
}

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400
/** Possible distances in seconds between the labels on an axis of durations. */
const DURATIONS_S = [
  ...[0.001, 0.01, 0.1].flatMap((unit) => [1, 2, 5].map((n) => n * unit)),
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE_S),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR_S),
  ...[1, 2, 5, 10].map((n) => n * DAY_S),
]

const sum = (lines: readonly { readonly total: number }[]) => lines.reduce((total, line) => total + line.total, 0)

interface FourProps {
  readonly history: History
  /** The period that the charts show, such as `hour`. */
  readonly span: string
}

function Four({ history, span }: FourProps) {
  const { deliveries, lost, lag, upstream, queues } = history
  const waiting = queues.map(({ label, now }) => `${label} ${now === null ? '–' : count(now)}`).join(', ')
  const none = `No data in the last ${span}`
  const from = firstStep(history)
  const common = { steps: history.steps.slice(from), none }
  const since = (lines: readonly Line[]) => lines.map((line) => ({ ...line, values: line.values.slice(from) }))
  return (
    <div className="charts">
      <SmallChart
        {...common}
        isCount
        title="Deliveries"
        now={`${counted(sum(deliveries), 'delivery', 'deliveries')} received. Waiting at the last count: ${waiting || 'none'}`}
        lines={since(withHues(deliveries).map((line) => ({ ...line, label: answerWord(line.label) })))}
      />
      <SmallChart
        {...common}
        isCount
        title="Lost webhooks"
        now={`${sum(lost) === 0 ? 'None lost' : `${count(sum(lost))} lost, all found by polling`}`}
        lines={since(withHues(lost).map((line) => ({ ...line, label: wordOf(line.label) })))}
      />
      <SmallChart
        {...common}
        title="Delay"
        now={lagText(lag) ?? none}
        format={seconds}
        increments={DURATIONS_S}
        lines={since([
          { label: 'mirror, median', values: lag.mirror.p50_values, hue: 'accent' },
          { label: 'mirror, slowest 1%', values: lag.mirror.p99_values, hue: 'unknown' },
          { label: 'destinations, median', values: lag.push.p50_values, hue: 'good' },
          { label: 'destinations, slowest 1%', values: lag.push.p99_values, hue: 'waiting' },
        ])}
      />
      <SmallChart
        {...common}
        isCount
        title="Requests to the service"
        now={requestsText(upstream) ?? none}
        lines={since(withHues(upstream).map((line) => ({ ...line, label: requestWords[line.label] ?? line.label })))}
      />
    </div>
  )
}

const MIN_STEPS = 12

/**
 * @returns the index of the first time step to show: the step before the first data. The index is lower if fewer than
 * 12 steps would be shown, and 0 if there is no data.
 */
function firstStep({ steps, deliveries, lost, upstream }: History): number {
  const first = steps.findIndex((_, step) => [...deliveries, ...lost, ...upstream].some(({ values }) => (values[step] ?? 0) > 0))
  return first < 0 ? 0 : Math.max(0, Math.min(first - 1, steps.length - MIN_STEPS))
}

function withHues(all: History['upstream']): Line[] {
  const lines = all.filter(({ total }) => total > 0)
  const hues = huesOf(lines.map(({ label }) => label))
  return lines.map((line, index) => ({ ...line, hue: hues[index] ?? 'unknown' }))
}

/**
 * @returns a text with the median and the 99th percentile of the delays. If a time step has a higher 99th percentile,
 * the text also has the highest one. Null if there is no data.
 */
function lagText({ mirror, push }: History['lag']): string | null {
  const textOf = ({ p50, p99, p99_values }: History['lag']['mirror'], to: string) => {
    const peak = Math.max(...p99_values.map((value) => value ?? 0))
    return `median ${seconds(p50)} to ${to} (slowest 1%: ${seconds(p99)}${peak > (p99 ?? 0) ? `, peak ${seconds(peak)}` : ''})`
  }
  const parts = [mirror.p50 !== null && textOf(mirror, 'the mirror'), push.p50 !== null && textOf(push, 'destinations')].filter(
    (part) => part !== false,
  )
  return parts.length === 0 ? null : parts.join('; ')
}

/** Texts for numbers of requests to the service, by the class of the answer. */
const requestWords: Readonly<Record<string, string>> = {
  ok: 'successful',
  auth: 'credential rejected',
  gone: 'id not found',
  throttled: 'rate limited',
  unavailable: 'service unavailable',
  oversized: 'answer too large',
  network: 'no connection',
}

/** @param status HTTP status with which the program answered a delivery. */
function answerWord(status: string): string {
  if (status === '204') return 'accepted'
  return status === '503' ? 'not stored (503)' : `rejected (${status})`
}

function requestsText(upstream: History['upstream']): string | null {
  const failed = sum(upstream.filter(({ label }) => label !== 'ok'))
  if (sum(upstream) === 0) return null
  return `${counted(sum(upstream), 'request')}, ${failed === 0 ? 'none failed' : `${count(failed)} failed`}`
}
