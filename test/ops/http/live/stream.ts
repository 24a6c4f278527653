import { until } from '../../../tools/until.ts'

/** An event as it came. */
export interface Heard {
  readonly id: string
  readonly event: string
  readonly data: Record<string, unknown>
}

/** Whoever listens to `GET /live`. */
export class Stream {
  readonly status: number
  readonly headers: Headers
  readonly heard: Heard[] = []
  /** All that came, as text. */
  text = ''
  hasEnded = false
  readonly #leaving = new AbortController()

  private constructor(response: Response, leaving: AbortController) {
    this.status = response.status
    this.headers = response.headers
    this.#leaving = leaving
    void this.#read(response).catch(() => {
      this.hasEnded = true
    })
  }

  static async open(origin: string, headers: Readonly<Record<string, string>>): Promise<Stream> {
    const leaving = new AbortController()
    return new Stream(await fetch(`${origin}/api/v1/live`, { headers, signal: leaving.signal }), leaving)
  }

  /** Waits for the first event of that kind that fits. */
  async next(event: string, fits: (data: Record<string, unknown>) => boolean = () => true): Promise<Heard> {
    return await until(`an event ${event}`, () => this.heard.find((each) => each.event === event && fits(each.data)))
  }

  async ended(): Promise<void> {
    await until('the end of the stream', () => this.hasEnded)
  }

  leave(): void {
    this.#leaving.abort()
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const text = decoder.decode(chunk as Uint8Array, { stream: true })
      this.text += text
      const frames = (rest + text).split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const fields = Object.fromEntries(
          frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        )
        if (fields['event']) {
          const data = JSON.parse(fields['data'] ?? 'null') as Record<string, unknown>
          this.heard.push({ id: fields['id'] ?? '', event: fields['event'], data })
        }
      }
    }
    this.hasEnded = true
  }
}
