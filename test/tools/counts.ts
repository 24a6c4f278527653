import type { Labels, Observer } from '../../src/base/observer.ts'

/** A queryable observer. Counts timings too. */
export class Counts implements Observer {
  readonly counted: string[] = []
  readonly gauges = new Map<string, number>()
  readonly #counts: { readonly line: string; readonly exact: string; readonly by: number }[] = []

  count(name: string, labels: Labels = {}, by = 1): void {
    const line = [name, ...Object.values(labels)].join(' ')
    this.#counts.push({ line, exact: exactly(name, labels), by })
    if (by > 0) this.counted.push(line)
  }

  time(name: string, _seconds: number, labels: Labels = {}): void {
    this.count(name, labels)
  }

  set(name: string, value: number): void {
    this.gauges.set(name, value)
  }

  of(name: string, labels?: Labels): number {
    const exact = labels && exactly(name, labels)
    const own = this.#counts.filter((count) => (exact === undefined ? count.line === name : count.exact === exact))
    return own.reduce((sum, { by }) => sum + by, 0)
  }
}

function exactly(name: string, labels: Labels): string {
  return `${name} ${JSON.stringify(Object.entries(labels).sort())}`
}
