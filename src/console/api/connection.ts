import { createStore } from './store.ts'

/** `isLost`: the last request failed. `answeredAt`: time of the last answer in ms; null before the first answer. */
export const connection = createStore({ answeredAt: null as number | null, isLost: false })

/** A gateway error counts as no answer, because the page may be out of date. */
export function recordAnswer(status: number): void {
  if (status >= 502 && status <= 504) recordNoAnswer()
  else connection.set({ answeredAt: Date.now(), isLost: false })
}

export function recordNoAnswer(): void {
  connection.set({ ...connection.get(), isLost: true })
}
