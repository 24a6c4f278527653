import type { Clock } from '../base/clock.ts'
import { LastUses } from '../base/last-uses.ts'
import type { Log } from '../base/log.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { saveCredentialUses } from '../store/reads/credential-uses.ts'

/** Records when the service last gave a token for each credential, so that operators see when an old one can be removed. */
export class CredentialUses extends LastUses {
  readonly #clock: Clock

  constructor(db: Db, clock: Clock, log: Log) {
    super({
      name: 'credentials',
      save: (uses) =>
        saveCredentialUses(
          db,
          uses.map(({ account, key, atMs }) => ({ account, clientId: key, at: timeFromMs(atMs) })),
        ),
      clock,
      log,
    })
    this.#clock = clock
  }

  /** Notes that the service has just given a token for a credential. @param clientId its id. */
  took(account: string, clientId: string): void {
    this.note(account, clientId, this.#clock.now())
  }
}
