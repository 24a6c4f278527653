import type { Clock } from '../../base/clock.ts'
import { dropping, type Protection } from '../../model/protection/protection.ts'
import type { Db, DbParts, OpenOptions } from './db.ts'
import { LogSeen } from './log-seen.ts'
import { createSignals, type Signals } from './signals.ts'

/** What a database hands on to its reads and transactions. */
export class Parts implements DbParts {
  readonly kind: 'sqlite' | 'postgres'
  readonly clock: Clock
  readonly signals: Signals
  readonly protection: Protection
  readonly listsDocuments: boolean
  readonly seen: LogSeen

  constructor({ kind, clock, signals, protection, listsDocuments, seen }: DbParts) {
    this.kind = kind
    this.clock = clock
    this.signals = signals
    this.protection = protection
    this.listsDocuments = listsDocuments
    this.seen = seen
  }
}

/** The parts of a database that is being opened. */
export function newParts(kind: DbParts['kind'], { clock, protection = dropping, listsDocuments = true }: OpenOptions): DbParts {
  return { kind, clock, signals: createSignals(clock), protection, listsDocuments, seen: new LogSeen() }
}

/** The same database, but for what is given. */
export function dbWith(db: Db, own: Partial<Pick<Db, 'read' | 'readNoWait' | 'write' | 'close'>>): Db {
  return {
    ...new Parts(db),
    processId: db.processId,
    read: db.read,
    readNoWait: own.read ?? db.readNoWait,
    write: (name, work, options) => db.write(name, work, options),
    emptyLog: () => db.emptyLog(),
    listen: (signal) => db.listen(signal),
    close: () => db.close(),
    ...own,
  }
}
