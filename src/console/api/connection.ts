import { createStore } from './store.ts'

/**
 * State of the connection to the program. `isLost`: the last request got no answer. `answeredAt`: time of the last
 * answer in epoch ms; null before the first answer.
 */
export const connection = createStore({ answeredAt: null as number | null, isLost: false })

/**
 * Stores that the program answered. Statuses 502 to 504 count as no answer. A gateway in front of the program sends
 * these statuses, and the program itself sends 503 if it can't serve requests now.
 */
export function recordAnswer(status: number): void {
  if (status >= 502 && status <= 504) recordNoAnswer()
  else connection.set({ answeredAt: Date.now(), isLost: false })
}

export function recordNoAnswer(): void {
  connection.set({ ...connection.get(), isLost: true })
}
