/** What happens, as listeners are told of it. `reset`: events are missing, so look again at whatever is shown. */
export const eventKinds = ['delivery', 'change', 'push', 'run', 'alarm', 'overview', 'ready', 'reset'] as const
export type EventKind = (typeof eventKinds)[number]

/** Something that happened: ids and states, never bodies or personal values. */
export interface LiveEvent {
  readonly kind: EventKind
  readonly data: object
}

/** An event as it goes over the line, with the id from which one goes on behind it. */
export function frameOf({ kind, data }: LiveEvent, id: string): string {
  return `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Keeps the line open, and finds out when nobody is at its other end. */
export const HEARTBEAT = ': still here\n\n'
