import { type Clock, systemClock } from '../../src/clock.ts'
import type { DestinationConfig } from '../../src/config.ts'
import { silentObserver } from '../../src/observe.ts'
import { Courier } from '../../src/push/courier.ts'
import type { DeliveryKind } from '../../src/push/delivery.ts'
import { Gate } from '../../src/push/gate.ts'
import { Sending } from '../../src/push/sending.ts'
import { Settler } from '../../src/push/settler.ts'
import { Wake } from '../../src/push/wake.ts'
import type { Db } from '../../src/store/db.ts'
import { silentLog as log } from '../tools/databases.ts'
import { testKind } from './kind.ts'

/** What one destination is sent with, as a sender puts it together; nothing of it runs. */
export function sendingOf(db: Db, destination: DestinationConfig, kind: DeliveryKind = testKind(), clock: Clock = systemClock): Sending {
  const common = { db, clock, log, observer: silentObserver, destination, kind }
  const gate = new Gate(common)
  const { signal } = new AbortController()
  const { name, idempotent } = destination
  const settler = new Settler({ db, clock, log, destination: name, idempotent, gatherMs: () => 0, over: signal })
  const courier = new Courier({ ...common, gate })
  return new Sending({ ...common, gate, courier, settler, wake: new Wake(clock), stopping: signal, over: signal })
}
