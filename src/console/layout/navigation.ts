import { Activity, FileText, Gauge, Inbox, Layers, ListChecks, type LucideIcon, Send } from 'lucide-react'

export interface PageLink {
  readonly to: '/' | '/submissions' | '/deliveries' | '/destinations' | '/documents' | '/reconcile' | '/operations'
  readonly name: string
  readonly icon: LucideIcon
}

export const pageLinks: readonly PageLink[] = [
  { to: '/', name: 'Overview', icon: Gauge },
  { to: '/submissions', name: 'Submissions', icon: Layers },
  { to: '/deliveries', name: 'Deliveries', icon: Inbox },
  { to: '/destinations', name: 'Destinations', icon: Send },
  { to: '/documents', name: 'Documents', icon: FileText },
  { to: '/reconcile', name: 'Reconcile', icon: ListChecks },
  { to: '/operations', name: 'Operations', icon: Activity },
]

export interface OperationsSection {
  readonly id: 'alarms' | 'accounts' | 'processes' | 'upkeep' | 'api-changes' | 'audit' | 'settings'
  readonly name: string
}

export const operationsSections: readonly OperationsSection[] = [
  { id: 'alarms', name: 'Alarms' },
  { id: 'accounts', name: 'Accounts' },
  { id: 'processes', name: 'Processes' },
  { id: 'upkeep', name: 'Maintenance' },
  { id: 'api-changes', name: 'API changes' },
  { id: 'audit', name: 'Audit' },
  { id: 'settings', name: 'Active settings' },
]
