import { createWriteStream, type WriteStream } from 'node:fs'
import { styleText } from 'node:util'
import type { Output } from '../base/host.ts'
import { printableLine } from '../ops/output/text.ts'

const marks = {
  webhook: 'green',
  poll: 'cyan',
  history: 'gray',
  lost: 'red',
  found: 'yellow',
  ams: 'magenta',
} as const
type Mark = keyof typeof marks

const COLUMNS = 100
const NAME_WIDTH = 30
/** Number of columns for the time, the mark, and the gaps of a line. */
const OTHER_WIDTH = 20

/**
 * Prints the demo's lines. Also writes each event to a log file: the time since the first event, the mark, the name,
 * and the text.
 */
export class Screen {
  readonly #out: Output
  readonly #log: WriteStream
  readonly #now: () => number
  #startedAt: number | undefined
  readonly #printed = new Set<Mark>()

  /**
   * @param logFile file to which every event is written.
   * @param now returns the time in ms since the epoch.
   */
  constructor(out: Output, logFile: string, now: () => number) {
    this.#out = out
    this.#log = createWriteStream(logFile)
    this.#now = now
  }

  /** Logs an event. Prints the event only if it is the first with this mark. */
  event(mark: Mark, name: string, text: string): void {
    this.#startedAt ??= this.#now()
    const time = `${((this.#now() - this.#startedAt) / 1000).toFixed(1).padStart(5)} s`
    this.#log.write(`${time}  ${mark.padEnd(7)}  ${name.padEnd(NAME_WIDTH)}  ${text}\n`)
    if (this.#printed.has(mark)) return
    this.#printed.add(mark)
    const columns = Math.min(this.#out.columns ?? COLUMNS, COLUMNS)
    const nameWidth = Math.min(NAME_WIDTH, Math.floor(columns / 4))
    const line = `${printableLine(name, nameWidth).padEnd(nameWidth)}  ${printableLine(text, columns - OTHER_WIDTH - nameWidth)}`
    this.#out.write(`${this.#paint('gray', time)}  ${this.#paint(marks[mark], mark.padEnd(7))}  ${line}\n`)
  }

  text(text: string): void {
    this.#out.write(`${text}\n`)
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#log.end(resolve))
  }

  #paint(style: (typeof marks)[Mark], text: string): string {
    return this.#out.hasColors ? styleText(style, text, { validateStream: false }) : text
  }
}
