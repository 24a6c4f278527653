import { Gauge, type LucideIcon } from 'lucide-react'

export interface Place {
  readonly to: '/'
  readonly name: string
  readonly icon: LucideIcon
}

/** The pages, in the order in which they stand everywhere. */
export const places: readonly Place[] = [{ to: '/', name: 'Overview', icon: Gauge }]
