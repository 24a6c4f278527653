/** Of what kind of thing something changed. */
export const liveKinds = ['delivery', 'change', 'push', 'run', 'alarm', 'overview'] as const
export type LiveKind = (typeof liveKinds)[number]

/** An event as it goes over the line: `reset` where something may have changed unheard. Its empty data lets browsers hand it over. */
export function frameOf(event: LiveKind | 'reset'): string {
  return `event: ${event}\ndata:\n\n`
}

/** Keeps the line open, and finds out when nobody is at its other end. */
export const HEARTBEAT = ': still here\n\n'
