export interface OperationsSection {
  /** Its anchor: `/console/operations#alarms`. */
  readonly id: 'alarms' | 'accounts' | 'processes' | 'upkeep' | 'drift' | 'audit' | 'settings'
  readonly name: string
}

/** The sections of the page of operations, in their order. */
export const operationsSections: readonly OperationsSection[] = [
  { id: 'alarms', name: 'Alarms' },
  { id: 'accounts', name: 'Accounts' },
  { id: 'processes', name: 'Processes' },
  { id: 'upkeep', name: 'Upkeep' },
  { id: 'drift', name: 'API changes' },
  { id: 'audit', name: 'Audit' },
  { id: 'settings', name: 'Settings in force' },
]
