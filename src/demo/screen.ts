import { styleText } from 'node:util'
import type { Output } from '../base/host.ts'
import { printableLine } from '../ops/output/text.ts'

/** The marks of lines, with their colours on a terminal. */
const marks = {
  webhook: 'green',
  poll: 'cyan',
  history: 'gray',
  lost: 'red',
  found: 'yellow',
  ams: 'magenta',
} as const
export type Mark = keyof typeof marks

const NAME_WIDTH = 30
const WHAT_WIDTH = 90
/** Time and mark before the name, and the gap behind it. */
const OTHER_WIDTH = 20

/** Writes the demo's lines: time, mark, name, what. Coloured only on a terminal. */
export class Screen {
  readonly #out: Output
  readonly #now: () => number
  #startedAt: number

  /** @param now milliseconds. */
  constructor(out: Output, now: () => number) {
    this.#out = out
    this.#now = now
    this.#startedAt = now()
  }

  /** The times of lines count from now on. */
  restartClock(): void {
    this.#startedAt = this.#now()
  }

  /** One thing that happened. */
  event(mark: Mark, name: string, what: string): void {
    const seconds = ((this.#now() - this.#startedAt) / 1000).toFixed(1).padStart(5)
    const columns = this.#out.columns ?? Number.POSITIVE_INFINITY
    const nameWidth = Math.min(NAME_WIDTH, Math.floor(columns / 4))
    const whatWidth = Math.max(1, Math.min(WHAT_WIDTH, columns - OTHER_WIDTH - nameWidth))
    const line = [cut(name, nameWidth).padEnd(nameWidth), cut(what, whatWidth)].join('  ').trimEnd()
    this.#out.write(`${this.#paint('gray', `${seconds} s`)}  ${this.#paint(marks[mark], mark.padEnd(7))}  ${line}\n`)
  }

  heading(text: string): void {
    this.#out.write(`\n${this.#paint('bold', text)}\n`)
  }

  text(text: string): void {
    this.#out.write(text.endsWith('\n') ? text : `${text}\n`)
  }

  #paint(style: 'bold' | (typeof marks)[Mark], text: string): string {
    return this.#out.hasColors ? styleText(style, text, { validateStream: false }) : text
  }
}

function cut(text: string, width: number): string {
  return printableLine(text, width)
}
