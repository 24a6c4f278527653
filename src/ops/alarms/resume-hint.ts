import type { DestinationState } from '../../store/schema/tables-push.ts'

/** @returns what to do to resume a stopped destination. */
export function resumeHint(name: string, state: Exclude<DestinationState, 'active'>): string {
  const resume = `\`submission-mirror destination resume ${name}\``
  if (state === 'paused') return `${resume} lets it go on`
  return `${state === 'parked' ? 'renew its credential, or mend what else the reason names' : 'mend its address'}, then ${resume}`
}
