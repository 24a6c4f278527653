import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useStore } from '../../api/store.ts'
import { theme } from '../../layout/theme.ts'
import { count } from '../../parts/numbers.ts'
import type { Hue } from './hues.ts'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  readonly hue: Hue
}

interface SmallChartProps {
  readonly title: string
  /** Text below the title that sums up the values. */
  readonly now: string
  readonly steps: readonly string[]
  readonly lines: readonly Line[]
  readonly format?: (value: number) => string
  readonly increments?: readonly number[]
  /** Whether the values are counts. Counts are drawn as stacked bars, other values as lines. */
  readonly isCount?: boolean
  /** Text to show if there are no values. */
  readonly none: string
}

const HEIGHT_PX = 120
/** Shows the crosshair in all charts, at the same point in time. */
const crosshair = uPlot.sync('console')
const bars: uPlot.Series.PathBuilder = (...given) => uPlot.paths.bars?.({ size: [0.8, 24], align: 1 })(...given) ?? null

export function SmallChart({ title, now, steps, lines, format = count, increments, isCount = false, none }: SmallChartProps) {
  const room = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const chosen = useStore(theme)
  const shape = `${chosen} ${isEmptyOf(lines)} ${lines.map(({ label, hue }) => `${label}/${hue}`).join()}`
  const data = useMemo<uPlot.AlignedData>(
    () => [steps.map((at) => Date.parse(at) / 1_000), ...(isCount ? stacked(lines) : lines.map(({ values }) => [...values]))],
    [steps, lines, isCount],
  )
  const isEmpty = isEmptyOf(lines)
  const latest = useRef({ data, lines, format, isCount })
  latest.current = { data, lines, format, isCount }
  // biome-ignore lint/correctness/useExhaustiveDependencies: draw again only if the lines or colors change.
  useEffect(() => {
    const element = room.current
    if (!element || element.hidden) return
    const made = new uPlot(optionsFor(element, latest, increments), latest.current.data, element)
    chart.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      chart.current = null
    }
  }, [shape])
  useEffect(() => chart.current?.setData(data), [data])
  return (
    <figure className="chart">
      <figcaption className="stack table-text">
        <strong>{title}</strong>
        <span className="quiet">{now}</span>
      </figcaption>
      {isEmpty && <p className="chart-none quiet small-text">{none}</p>}
      <div ref={room} className="chart-room" aria-hidden="true" hidden={isEmpty} />
    </figure>
  )
}

/**
 * Stacks lines: each value becomes the sum of itself and the values of all later lines. The first line is then the
 * highest, and the chart draws it first, behind the others.
 */
function stacked(lines: readonly Line[]): (number | null)[][] {
  return lines.map((line, at) =>
    line.values.map((value, step) => (value === null ? null : lines.slice(at).reduce((sum, { values }) => sum + (values[step] ?? 0), 0))),
  )
}

function isEmptyOf(lines: readonly Line[]): boolean {
  return lines.every(({ values }) => values.every((value) => value === null))
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const DAYS_FROM_S = 2 * 86_400

function timesOf(chart: uPlot, ticks: number[]): string[] {
  const [first = 0, last = 0] = [chart.data[0][0], chart.data[0].at(-1)]
  const format = last - first > DAYS_FROM_S ? days : clock
  return ticks.map((tick) => format.format(tick * 1_000))
}

interface Latest {
  readonly current: { readonly lines: readonly Line[]; readonly format: (value: number) => string; readonly isCount: boolean }
}

/** Selects values whose neighbors are missing. Such values are drawn as dots, because a line needs two values. */
const isolated: uPlot.Series.Points.Filter = (chart, series) => {
  const values: readonly (number | null | undefined)[] = Array.from(chart.data[series] ?? [])
  return values.flatMap((value, at) => (value != null && values[at - 1] == null && values[at + 1] == null ? [at] : []))
}

/** @param latest content of the chart, which may change after the chart is drawn. */
function optionsFor(element: HTMLElement, latest: Latest, increments?: readonly number[]): uPlot.Options {
  const { lines, format, isCount } = latest.current
  const style = getComputedStyle(element)
  const cssValue = (name: string) => style.getPropertyValue(`--${name}`).trim() || 'gray'
  // A canvas can't use light-dark() colors. Let the browser compute the color for an element instead.
  const probe = document.createElement('span')
  element.append(probe)
  const computed = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color || cssValue(name)
  }
  const axis = {
    stroke: computed('quiet'),
    font: '11px Inter, system-ui',
    grid: { stroke: computed('line'), width: 1 },
    ticks: { show: false },
  }
  const computedHues = lines.map(({ hue }) => computed(hue))
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: HEIGHT_PX,
    // Leave space on the right for half of the last label.
    padding: [8, 20, 0, 0],
    cursor: { sync: { key: crosshair.key }, points: { size: 6 }, y: false },
    legend: {
      live: true,
      markers: { width: 0, fill: (_chart, at) => computedHues[at - 1] ?? '' },
    },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(1e-3, max * 1.1 || 1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 64, values: timesOf },
      {
        ...axis,
        size: 48,
        space: 28,
        ...(increments && { incrs: [...increments] }),
        values: (_chart, ticks) => ticks.map((tick) => (tick === 0 ? '0' : format(tick))),
      },
    ],
    series: [
      { value: (chart: uPlot, at: number | null) => (at === null ? '' : (timesOf(chart, [at])[0] ?? '')) },
      ...lines.map(({ label }, at) => ({
        label,
        stroke: computedHues[at] ?? '',
        width: isCount ? 0 : 1.5,
        spanGaps: false,
        points: isCount ? { show: false } : { show: true, size: 5, fill: computedHues[at] ?? '', filter: isolated },
        ...(isCount && { paths: bars, fill: computedHues[at] ?? '' }),
        value: (_chart: uPlot, _shown: number | null, _series: number, step: number | null) => {
          const value = step === null ? null : (latest.current.lines[at]?.values[step] ?? null)
          return value === null ? '' : format(value)
        },
      })),
    ],
  }
  probe.remove()
  return options
}
