import { Activity, FileText, Gauge, Inbox, Layers, ListChecks, type LucideIcon, Send } from 'lucide-react'

export interface Place {
  readonly to: '/' | '/submissions' | '/deliveries' | '/destinations' | '/documents' | '/reconcile' | '/operations'
  readonly name: string
  readonly icon: LucideIcon
  /** Goes there after `g`. */
  readonly key: string
}

/** The pages, in the order in which they stand everywhere. */
export const places: readonly Place[] = [
  { to: '/', name: 'Overview', icon: Gauge, key: 'o' },
  { to: '/submissions', name: 'Submissions', icon: Layers, key: 's' },
  { to: '/deliveries', name: 'Deliveries', icon: Inbox, key: 'd' },
  { to: '/destinations', name: 'Destinations', icon: Send, key: 't' },
  { to: '/documents', name: 'Documents', icon: FileText, key: 'f' },
  { to: '/reconcile', name: 'Reconcile', icon: ListChecks, key: 'r' },
  { to: '/operations', name: 'Operations', icon: Activity, key: 'p' },
]
