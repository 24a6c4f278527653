import type { PushItem } from './delivery.ts'

/**
 * The direction of a message from the brokerage's side, and whether the brokerage wrote it itself. The service's word is from its own side:
 * its `inbound` is our `sent` (trap 73). A word that it does not use today tells nothing.
 * @param service `thread_messages.direction`; null for what is no message.
 */
export function directionOf(service: string | null): Pick<PushItem, 'direction' | 'echo'> {
  if (service === 'inbound') return { direction: 'sent', echo: true }
  return { direction: service === 'outbound' ? 'received' : null, echo: false }
}
