import { sql } from 'kysely'
import { timeFromMs } from '../../../src/model/time.ts'
import { changesAfter, findChange } from '../../../src/store/changes/reader.ts'
import type { Query } from '../../../src/store/engine/db.ts'
import { sizeOfTurn } from '../../../src/store/upkeep/turn-size.ts'
import { uuid } from '../../tools/observations.ts'
import { BUSY, DESTINATION, QUIET } from '../lookups/rows.ts'

/** A lookup in the change log. `run` uses the n-th of several keys. */
interface ChangeLookup {
  readonly name: string
  readonly run: (q: Query, n: number) => Promise<unknown>
}

const PAGE = 50
/** Limit of a filtered page (`GET /api/v1/changes`). */
const LOOKED_AT = 50_000
/** Leads to another part of the log each time. */
const STRIDE = 7_919_317

export function changeLookups(changes: number): ChangeLookup[] {
  const seqOf = (n: number) => 1 + ((n * STRIDE) % Math.max(1, changes - LOOKED_AT))
  const idOf = (n: number) => uuid(9, (n * 6_131) % 90_000)
  const ask = (text: string) => (q: Query) => q.run(sql.raw(text))
  return [
    { name: 'one change by its number', run: (q, n) => findChange(q, seqOf(n)) },
    { name: 'the next 50 behind a number', run: (q, n) => changesAfter(q, seqOf(n), PAGE) },
    {
      name: 'the next 50 of a quiet account, of 50,000',
      run: (q, n) => changesAfter(q, seqOf(n), PAGE, { account: QUIET, until: seqOf(n) + LOOKED_AT }),
    },
    {
      name: 'the changes of a submission',
      run: (q, n) => ask(`select * from changes where account = '${BUSY}' and submission_id = '${idOf(n)}' order by seq limit ${PAGE}`)(q),
    },
    {
      name: 'its newest 50',
      run: (q, n) =>
        ask(`select * from changes where account = '${BUSY}' and submission_id = '${idOf(n)}' order by seq desc limit ${PAGE}`)(q),
    },
    ...[BUSY, QUIET].map((account): ChangeLookup => {
      return {
        name: `the newest 50 of the ${account} account`,
        run: ask(`select * from changes where account = '${account}' order by seq desc limit ${PAGE}`),
      }
    }),
    {
      name: 'the newest 50 since a time',
      run: ask(`select * from changes where changed_at > timestamptz '2026-02-01' order by changed_at limit ${PAGE}`),
    },
    {
      name: 'how much a turn of retention would remove',
      run: (q) => sizeOfTurn(q, 'changes', timeFromMs(Date.UTC(2026, 1, 1)), [DESTINATION]),
    },
  ]
}
