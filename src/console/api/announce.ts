import { createStore } from './store.ts'

interface StatusMessage {
  readonly text: string
  readonly isError: boolean
  /** Number of the message. Distinguishes two messages with the same text. */
  readonly id: number
}

export const statusMessage = createStore<StatusMessage | null>(null)
let lastId = 0

export function announce(text: string): void {
  statusMessage.set({ text, isError: false, id: ++lastId })
}

export function announceError(text: string): void {
  statusMessage.set({ text, isError: true, id: ++lastId })
}

export function clearMessage(): void {
  statusMessage.set(null)
}
