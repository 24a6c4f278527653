import type { SurpriseKind } from '../../model/interface-drift.ts'
import type { TimeText } from '../../model/time.ts'

/** The table of 0039-interface-drift. */
export interface InterfaceDriftTables {
  sync_interface_drift: InterfaceDriftTable
}

/** Something that the service sent and the specification does not name. */
export interface InterfaceDriftTable {
  account: string
  /** The read that it was in, or the kind of the delivery. */
  resource: string
  path: string
  kind: SurpriseKind
  /** The JSON type that was seen. */
  type: string
  first_seen_at: TimeText
  last_seen_at: TimeText
  /** In how many answers and deliveries. */
  answers: number
}
