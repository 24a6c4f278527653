import { until } from '../../../tools/until.ts'

/** Whoever listens to `GET /live`. */
export class Stream {
  readonly status: number
  readonly headers: Headers
  /** The names of the events that came, and were not waited for yet. */
  readonly heard: string[] = []
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

  /** Waits for an event, and takes it with all that came before it. */
  async next(event: string): Promise<void> {
    await until(`an event ${event}`, () => this.heard.includes(event))
    this.heard.splice(0, this.heard.indexOf(event) + 1)
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
      this.heard.push(...frames.flatMap((frame) => /^event: (\w+)$/m.exec(frame)?.[1] ?? []))
    }
    this.hasEnded = true
  }
}
