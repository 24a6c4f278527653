import { onTestFinished } from 'vitest'
import { postSigned } from '../e2e/signed.ts'

/** An answered delivery, or one whose connection broke. */
export interface Sent {
  readonly id: string
  readonly secret: string
  readonly status: number | null
}

/** Senders without pauses: each posts its next delivery after an answer. */
export class Traffic {
  readonly sent: Sent[] = []
  readonly #url: string
  readonly #body: (n: number) => string
  readonly #senders: Promise<void>[]
  readonly #rounds: number[]
  #secrets: readonly string[]
  #begun = 0
  #stopped = false
  #progress = Promise.withResolvers<void>()

  /** @param body of the nth delivery. Starts immediately and ends with the test. */
  constructor(url: string, senders: number, secrets: readonly string[], body: (n: number) => string) {
    this.#url = url
    this.#body = body
    this.#secrets = secrets
    this.#rounds = Array.from({ length: senders }, () => 0)
    this.#senders = this.#rounds.map((_, sender) => this.#send(sender))
    onTestFinished(() => this.stop())
  }

  /** Secrets that the senders use in turn from their next delivery on. */
  signWith(...secrets: readonly string[]): void {
    this.#secrets = secrets
  }

  async more(rounds: number): Promise<void> {
    const goals = this.#rounds.map((done) => done + rounds + 1)
    while (!goals.every((goal, sender) => (this.#rounds[sender] ?? 0) >= goal)) await this.#progress.promise
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#senders)
  }

  async #send(sender: number): Promise<void> {
    while (!this.#stopped) {
      const secret = this.#secrets[sender % this.#secrets.length] ?? ''
      this.#begun += 1
      const id = `msg_traffic_${this.#begun}`
      const answered = await postSigned(this.#url, secret, this.#body(this.#begun), id).catch(() => null)
      this.sent.push({ id, secret, status: answered?.status ?? null })
      this.#rounds[sender] = (this.#rounds[sender] ?? 0) + 1
      this.#progress.resolve()
      this.#progress = Promise.withResolvers()
    }
  }
}
