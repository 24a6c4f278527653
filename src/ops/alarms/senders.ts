import type { OperatorConfig } from '../../config/config.ts'
import type { OperatorSender, SenderContext, SendResult } from './sender.ts'

/** Senders for all alert recipients. Each sender is created when it is first used. */
export class Senders {
  readonly operators: readonly OperatorConfig[]
  readonly #context: SenderContext
  readonly #open = new Map<string, Promise<OperatorSender>>()

  constructor(operators: readonly OperatorConfig[], context: SenderContext) {
    this.operators = operators
    this.#context = context
  }

  async send(operator: OperatorConfig, id: string, body: string, signal: AbortSignal): Promise<SendResult> {
    let sender = this.#open.get(operator.name)
    if (sender === undefined) {
      sender = openSender(operator, this.#context)
      this.#open.set(operator.name, sender)
    }
    return await (await sender).send(id, body, signal)
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const sender of all) await (await sender).close()
  }
}

/** Creates a recipient's sender. Imports only the module for the recipient's kind. */
async function openSender(operator: OperatorConfig, context: SenderContext): Promise<OperatorSender> {
  if (operator.kind === 'webhook') return (await import('./webhook.ts')).createWebhookSender(operator, context)
  return (await import('./email.ts')).createEmailSender(operator, context)
}
