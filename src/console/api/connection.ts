import { createStore } from './store.ts'

/**
 * State of the connection to the program. `isLost`: the last request got no answer. `answeredAt`: time of the last
 * answer
 * in epoch ms; null before the first.
 */
export const connection = createStore({ answeredAt: null as number | null, isLost: false })

/**
 * Records an answer of the program. Statuses 502 to 504 come from a gateway in front of it, so they count as no answer.
 */
export function recordAnswer(status: number): void {
  if (status >= 502 && status <= 504) recordNoAnswer()
  else connection.set({ answeredAt: Date.now(), isLost: false })
}

export function recordNoAnswer(): void {
  connection.set({ ...connection.get(), isLost: true })
}
