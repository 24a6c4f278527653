import { Activity, Gauge, Inbox, Layers, ListChecks, type LucideIcon, Send } from 'lucide-react'

export interface Place {
  readonly to: '/' | '/submissions' | '/deliveries' | '/destinations' | '/reconcile' | '/operations'
  readonly name: string
  readonly icon: LucideIcon
}

/** The pages, in the order in which they stand everywhere. */
export const places: readonly Place[] = [
  { to: '/', name: 'Overview', icon: Gauge },
  { to: '/submissions', name: 'Submissions', icon: Layers },
  { to: '/deliveries', name: 'Deliveries', icon: Inbox },
  { to: '/destinations', name: 'Destinations', icon: Send },
  { to: '/reconcile', name: 'Reconcile', icon: ListChecks },
  { to: '/operations', name: 'Operations', icon: Activity },
]
