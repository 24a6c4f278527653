const whole = new Intl.NumberFormat()
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const dollars = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', trailingZeroDisplay: 'stripIfInteger' })
const bytes = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export function count(n: number): string {
  return whole.format(n)
}

/** @returns the count as text, such as `12`. An incomplete count ends with a plus, such as `1,000+`. */
export function countUpTo({ count: n, is_complete }: { readonly count: number; readonly is_complete: boolean }): string {
  return is_complete ? count(n) : `${count(n)}+`
}

/** @returns a number with its noun, such as `1 delivery` or `12 deliveries`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${whole.format(n)} ${n === 1 ? one : many}`
}

export function share(ratio: number): string {
  return percent.format(ratio)
}

/** @param cents amount in US cents. Without an amount, the result is `–`. */
export function money(cents: number | null | undefined): string {
  return cents === null || cents === undefined ? '–' : dollars.format(cents / 100)
}

export function size(n: number): string {
  if (n < 1_000) return `${n} B`
  return n < 1_000_000 ? `${bytes.format(n / 1_000)} KB` : `${bytes.format(n / 1_000_000)} MB`
}

/** @returns a duration such as `80 ms`, `1.4 s`, or `3 min`. Without a duration, the result is `–`. */
export function seconds(s: number | null | undefined): string {
  if (s === null || s === undefined) return '–'
  if (s < 1) return `${Math.round(s * 1_000)} ms`
  if (s < 90) return `${bytes.format(s)} s`
  return s < 5_400 ? `${Math.round(s / 60)} min` : `${bytes.format(s / 3_600)} h`
}
