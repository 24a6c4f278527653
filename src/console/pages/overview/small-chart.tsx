import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTheme } from '../../layout/theme.ts'
import { count } from '../../parts/numbers.ts'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  readonly hue: 'accent' | 'good' | 'waiting' | 'bad' | 'unknown'
}

interface SmallChartProps {
  readonly title: string
  /** The number now, in words. */
  readonly now: string
  /** When each step began. */
  readonly steps: readonly string[]
  readonly lines: readonly Line[]
  readonly format?: (value: number) => string
  /** What is said in place of a chart when there is nothing to draw. */
  readonly none: string
}

const HEIGHT_PX = 120
/** Dashes and gaps in pixels. Lines of one colour are told apart by them, in the chart and in its legend. */
const dashes: readonly (readonly number[])[] = [[], [5, 3], [2, 2], [9, 2, 2, 2]]
/** All charts of the page move one crosshair. */
const crosshair = uPlot.sync('console')

/** A small chart, which says in words what it shows now. */
export function SmallChart({ title, now, steps, lines, format = count, none }: SmallChartProps) {
  const room = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const theme = useTheme()
  const shape = `${theme} ${isEmptyOf(lines)} ${lines.map(({ label, hue }) => `${label}/${hue}`).join()}`
  const data = useMemo<uPlot.AlignedData>(
    () => [steps.map((at) => Date.parse(at) / 1_000), ...lines.map(({ values }) => [...values])],
    [steps, lines],
  )
  const isEmpty = isEmptyOf(lines)
  const latest = useRef({ data, lines, format })
  latest.current = { data, lines, format }
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is drawn anew only when its lines are others, or its colours.
  useEffect(() => {
    const element = room.current
    if (!element || element.hidden) return
    const { data: first, lines: drawn, format: words } = latest.current
    const made = new uPlot(optionsFor(element, drawn, words), first, element)
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
      <figcaption>
        <strong>{title}</strong>
        <span className="quiet">{now}</span>
      </figcaption>
      {isEmpty && <p className="chart-none">{none}</p>}
      <div ref={room} className="chart-room" aria-hidden="true" hidden={isEmpty} />
    </figure>
  )
}

function isEmptyOf(lines: readonly Line[]): boolean {
  return lines.every(({ values }) => values.every((value) => value === null))
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const DAYS_FROM_S = 2 * 86_400

/** Times of day; of longer spans, days. */
function timesOf(chart: uPlot, ticks: number[]): string[] {
  const [first = 0, last = 0] = [chart.data[0][0], chart.data[0].at(-1)]
  const format = last - first > DAYS_FROM_S ? days : clock
  return ticks.map((tick) => format.format(tick * 1_000))
}

/** @returns the dashes of a line: those that no line before it has in the same colour. */
function dashOf(lines: readonly Line[], at: number): readonly number[] {
  const before = lines.slice(0, at).filter(({ hue }) => hue === lines[at]?.hue).length
  return dashes[before % dashes.length] ?? []
}

/** @returns a ground that looks like the line. */
function swatchOf(colour: string, dash: readonly number[]): string {
  if (dash.length === 0) return colour
  const ends = dash.map((_, part) => dash.slice(0, part + 1).reduce((sum, px) => sum + px, 0))
  const stops = ends.map((end, part) => `${part % 2 === 0 ? colour : 'transparent'} ${ends[part - 1] ?? 0}px ${end}px`)
  return `repeating-linear-gradient(90deg, ${stops.join(', ')})`
}

function optionsFor(element: HTMLElement, lines: readonly Line[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim() || 'gray'
  // The canvas knows no light-dark(): the browser computes it once, as the colour of an element.
  const probe = document.createElement('span')
  element.append(probe)
  const computed = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color || colour(name)
  }
  const axis = { stroke: computed('quiet'), font: '11px system-ui', grid: { stroke: computed('line'), width: 1 }, ticks: { show: false } }
  const computedHues = lines.map(({ hue }) => computed(hue))
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: HEIGHT_PX,
    // At the right there is room for half of the last time.
    padding: [8, 20, 0, 0],
    cursor: { sync: { key: crosshair.key }, points: { size: 6 }, y: false },
    legend: {
      live: true,
      markers: { width: 0, fill: (_chart, at) => swatchOf(computedHues[at - 1] ?? '', dashOf(lines, at - 1)) },
    },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(1e-3, max * 1.1 || 1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 64, values: timesOf },
      { ...axis, size: 48, space: 28, values: (_chart, ticks) => ticks.map((tick) => (tick === 0 ? '0' : format(tick))) },
    ],
    series: [
      {},
      ...lines.map(({ label }, at) => ({
        label,
        stroke: computedHues[at] ?? '',
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        dash: [...dashOf(lines, at)],
        value: (_chart: uPlot, value: number | null | undefined) => (value === null || value === undefined ? '' : format(value)),
      })),
    ],
  }
  probe.remove()
  return options
}
