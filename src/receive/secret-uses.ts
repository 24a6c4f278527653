import type { Clock } from '../base/clock.ts'
import { LastUses } from '../base/last-uses.ts'
import type { Log } from '../base/log.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { saveSecretUses } from '../store/reads/webhook-secrets.ts'

/**
 * Records when each webhook secret last verified a delivery, so that operators see when an old secret can be removed (trap 37). What is
 * noted of a secret is its tag; see `secretTag`.
 */
export class SecretUses extends LastUses {
  constructor(db: Db, clock: Clock, log: Log) {
    super({
      name: 'webhook secrets',
      save: (uses) =>
        saveSecretUses(
          db,
          uses.map(({ account, key, atMs }) => ({ account, tag: key, at: timeFromMs(atMs) })),
        ),
      clock,
      log,
    })
  }
}
