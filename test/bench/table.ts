export interface BenchRow {
  readonly bar: string
  readonly value: string
  readonly baseline: string
  /** Median and range of the ratio over the rounds; empty for an absolute bar. */
  readonly ratio: string
  /** Empty: no limit. */
  readonly required: string
  readonly met: boolean
}

export const ROUNDS = 7

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}

/** @param share such as 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Measures `ours` and `theirs` in turns, so that other load affects both. @returns a row with the median of the rounds' ratios. */
export async function compare(
  bar: string,
  unit: string,
  required: number | null,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  rounds = ROUNDS,
): Promise<BenchRow> {
  const a: number[] = []
  const b: number[] = []
  for (let round = 0; round < rounds; round++) {
    const oursFirst = round % 2 === 0
    if (oursFirst) a.push(await ours())
    b.push(await theirs())
    if (!oursFirst) a.push(await ours())
  }
  const ratios = a.map((value, index) => value / (b[index] ?? Number.NaN))
  const ratio = median(ratios)
  return {
    bar,
    value: `${Math.round(median(a)).toLocaleString('en')} ${unit}`,
    baseline: `${Math.round(median(b)).toLocaleString('en')} ${unit}`,
    ratio: `${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    required: required === null ? '' : `≥ ${required} ×`,
    met: required === null || ratio >= required,
  }
}

/** A row without a baseline. @param required empty: no limit. */
export function plainRow(bar: string, value: string, required: string, met: boolean): BenchRow {
  return { bar, value, baseline: '', ratio: '', required, met }
}

/** Durations of repeated runs, with the 99th percentile. */
export async function timed(bar: string, runs: number, limitMs: number, work: (n: number) => Promise<unknown>): Promise<BenchRow> {
  const times: number[] = []
  for (let n = 0; n < runs; n++) {
    const startedAt = performance.now()
    await work(n)
    times.push(performance.now() - startedAt)
  }
  const row = atMost(bar, 'ms', median(times), limitMs)
  return { ...row, value: `${row.value} (p99 ${quantile(times, 0.99).toFixed(1)})` }
}

/** A row for an absolute bar. `value` and `limit` are in `unit`. */
export function atMost(bar: string, unit: string, value: number, limit: number): BenchRow {
  return plainRow(bar, `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`, `≤ ${limit} ${unit}`, value <= limit)
}

export function tableOf(rows: readonly BenchRow[]): string {
  const head = '| bar | ours | baseline | ratio: median (spread) | required | |\n|---|---|---|---|---|---|'
  return [head, ...rows.map((r) => `| ${r.bar} | ${r.value} | ${r.baseline} | ${r.ratio} | ${r.required} | ${verdictOf(r)} |`)].join('\n')
}

function verdictOf({ required, met }: BenchRow): string {
  if (required === '') return ''
  return met ? 'met' : 'missed'
}
