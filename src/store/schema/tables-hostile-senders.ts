import type { TimeText } from '../../model/time.ts'

export interface HostileSendersTables {
  sync_refused_connections: RefusedConnectionsTable
  sync_differing_deliveries: DifferingDeliveriesTable
}

export interface RefusedConnectionsTable {
  noted_at: TimeText
  process_id: string
  reason: string
  connections: number
  /** The address with the most of all reasons. */
  worst_address: string
}

export interface DifferingDeliveriesTable {
  account: string
  delivery_id: string
  /** Of the body that was not kept, in hexadecimal digits. */
  body_sha256: string
  first_at: TimeText
  last_at: TimeText
  times: number
  /** 0 when retention had removed the first body: then nobody knows whether this one differs. */
  is_compared: number
}
