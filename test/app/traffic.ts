import { onTestFinished } from 'vitest'
import { postSigned } from '../e2e/signed.ts'

/** A delivery that was answered, or whose connection broke. */
export interface Sent {
  readonly id: string
  readonly secret: string
  /** null: there was no answer. */
  readonly status: number | null
}

/** Senders that never pause: each posts its next delivery as soon as the last one was answered. */
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

  /** @param body that of the nth delivery; it begins at once, and ends with the test. */
  constructor(url: string, senders: number, secrets: readonly string[], body: (n: number) => string) {
    this.#url = url
    this.#body = body
    this.#secrets = secrets
    this.#rounds = Array.from({ length: senders }, () => 0)
    this.#senders = this.#rounds.map((_, sender) => this.#send(sender))
    onTestFinished(() => this.stop())
  }

  /** From its next delivery on each sender signs with one of these; they are dealt out in turn. */
  signWith(...secrets: readonly string[]): void {
    this.#secrets = secrets
  }

  /** Resolves when every sender has got so many answers to deliveries that it began after now. */
  async more(rounds: number): Promise<void> {
    // One may be under way already.
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
