/** One line of the bench table. */
export interface BenchRow {
  /** What is measured. */
  readonly bar: string
  /** The median of what is measured, with its unit. */
  readonly value: string
  /** The median of what it is measured against, with its unit; empty for an absolute bar. */
  readonly baseline: string
  /** Median and spread (lowest to highest) of the ratio over the rounds; empty for an absolute bar. */
  readonly ratio: string
  /** Empty: nothing is asked of it, it tells what another row is to be read with. */
  readonly required: string
  readonly met: boolean
}

export const ROUNDS = 7

/** The middle value; of an even number the lower of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}

/** A share of the sorted values, e.g. 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/**
 * Measures `ours` and `theirs` in turns, so that whatever else the machine does falls on both.
 * @returns a row whose ratio is the median of the rounds' ratios.
 */
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

/** A row for a bar that is no ratio. `value` and `limit` in `unit`. */
export function atMost(bar: string, unit: string, value: number, limit: number): BenchRow {
  return {
    bar,
    value: `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`,
    baseline: '',
    ratio: '',
    required: `≤ ${limit} ${unit}`,
    met: value <= limit,
  }
}

/** The rows as a Markdown table. */
export function tableOf(rows: readonly BenchRow[]): string {
  const head = '| bar | ours | baseline | ratio: median (spread) | required | |\n|---|---|---|---|---|---|'
  return [head, ...rows.map((r) => `| ${r.bar} | ${r.value} | ${r.baseline} | ${r.ratio} | ${r.required} | ${verdictOf(r)} |`)].join('\n')
}

function verdictOf({ required, met }: BenchRow): string {
  if (required === '') return ''
  return met ? 'met' : 'missed'
}
