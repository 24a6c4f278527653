import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { WakeUp } from '../../../src/base/wakeup.ts'
import type { DestinationConfig } from '../../../src/config/config.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { DestinationGate } from '../../../src/push/send/destination-gate.ts'
import { RowSender } from '../../../src/push/send/row-sender.ts'
import { Settler } from '../../../src/push/send/settler.ts'
import { StreamClaims } from '../../../src/push/send/stream-claims.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { silentLog as log } from '../../tools/databases.ts'
import { testKind } from '../kind.ts'

export function sendingOf(
  db: Db,
  destination: DestinationConfig,
  kind: DeliveryKind = testKind(),
  clock: Clock = systemClock,
): StreamClaims {
  const common = { db, clock, log, observer: silentObserver, destination, kind }
  const gate = new DestinationGate(common)
  const { signal } = new AbortController()
  const { name, idempotent } = destination
  const settler = new Settler({ db, clock, log, destination: name, idempotent, gatherMs: () => 0, canceled: signal })
  const rowSender = new RowSender({ ...common, gate })
  return new StreamClaims({ ...common, gate, rowSender, settler, wakeUp: new WakeUp(clock), stopping: signal, canceled: signal })
}

/** Whether a gate has a turn without waiting. */
export function turnNow(gate: DestinationGate): Promise<boolean> {
  const stopping = new AbortController()
  const got = gate.turn(stopping.signal)
  stopping.abort()
  return got
}
