import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import type { DestinationConfig } from '../../../src/config/config.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { Courier } from '../../../src/push/send/attempt.ts'
import { Gate } from '../../../src/push/send/gate.ts'
import { Sending } from '../../../src/push/send/sending.ts'
import { Settler } from '../../../src/push/send/settler.ts'
import { Wake } from '../../../src/push/send/wake.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { silentLog as log } from '../../tools/databases.ts'
import { testKind } from '../kind.ts'

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
