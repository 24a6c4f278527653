import type { Kysely } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import { dropping, type Protection } from '../../model/protection/protection.ts'
import type { Tables } from '../schema/tables.ts'
import type { Db, DbParts, OpenOptions, Statement } from './db.ts'
import { LogSeen } from './log-seen.ts'
import { createSignals, type Signals } from './signals.ts'

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

/** Methods that run statements, for reads and transactions of both databases. */
export abstract class Statements extends Parts {
  abstract readonly sql: Kysely<Tables>

  async all<T>(statement: Statement<T>): Promise<T[]> {
    return (await this.sql.executeQuery(statement.compile(this.sql))).rows
  }

  async one<T>(statement: Statement<T>): Promise<T | null> {
    return (await this.all(statement))[0] ?? null
  }

  async exists(statement: Statement<unknown>): Promise<boolean> {
    return (await this.one(statement)) !== null
  }

  async count(statement: Statement<object>): Promise<number> {
    return Number(Object.values((await this.one(statement)) ?? {})[0] ?? 0)
  }

  async run(statement: Statement<unknown>): Promise<number> {
    return Number((await this.sql.executeQuery(statement.compile(this.sql))).numAffectedRows ?? 0)
  }
}

export function newParts(kind: DbParts['kind'], { clock, protection = dropping, listsDocuments = true }: OpenOptions): DbParts {
  return { kind, clock, signals: createSignals(clock), protection, listsDocuments, seen: new LogSeen() }
}

/** A copy of `db` in which `own` replaces some parts. */
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
