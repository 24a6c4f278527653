import type { SurpriseKind } from '../../model/interface-drift.ts'
import type { TimeText } from '../../model/time.ts'

/** Where answers and deliveries differ from the specification, for kysely. */
export interface InterfaceDriftTables {
  sync_interface_drift: InterfaceDriftTable
}

/** A difference from the specification. */
export interface InterfaceDriftTable {
  account: string
  /** The read that it was in, or the kind of the delivery. */
  resource: string
  path: string
  kind: SurpriseKind
  /** The JSON type that was seen; `absent` for a missing field. */
  type: string
  first_seen_at: TimeText
  last_seen_at: TimeText
  /** In how many answers and deliveries. */
  answers: number
}
