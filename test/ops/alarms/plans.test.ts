import Database from 'better-sqlite3'
import type { KyselyPlugin, RootOperationNode } from 'kysely'
import { expect, it } from 'vitest'
import { AlarmWatch } from '../../../src/ops/alarms/alarm-watch.ts'
import type { Db, Query } from '../../../src/store/engine/db.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { hook } from '../../config/support.ts'
import { testDatabases } from '../../tools/databases.ts'
import { openWatch } from './rig.ts'

/** Tables that grow with the mirror, with deliveries, or with what is pushed. */
const LARGE =
  /^SCAN (?:submissions|market_events|thread_messages|changes|sync_inbox|sync_reads|sync_arrivals|sync_conflicts|sync_unreadable|sync_outbox|sync_push_lanes|reconcile_runs|reconcile_findings)\b(?!.* USING (?:COVERING )?INDEX)/

interface Asked {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** A query that remembers what it was asked. */
function listening(query: Query, asked: Asked[]): Query {
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const { sql, parameters } = query.sql.getExecutor().compileQuery(node as RootOperationNode, queryId)
      asked.push({ sql, parameters })
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return Object.create(query, { sql: { value: query.sql.withPlugin(plugin) } }) as Query
}

it('a look reads large tables by index alone', async () => {
  const [sqlite] = testDatabases
  if (!sqlite) throw new Error('no database')
  const ams = { name: 'ams', kind: 'webhook', url: 'https://ams.test/hook', secret: '${AMS_SECRET}' }
  const rig = await openWatch(sqlite, { destinations: [ams] }, { AMS_SECRET: hook(3) })
  await setDestinationState(rig.db, 'ams', 'active', null)
  await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ queued: 1, cursor: 0 }).execute())
  await rig.deliver(3)
  const asked: Asked[] = []
  const db: Db = Object.create(rig.db, { read: { value: listening(rig.db.read, asked) }, write: { value: rig.db.write.bind(rig.db) } })
  await new AlarmWatch({ ...rig.parts, db }).evaluate(new AbortController().signal)
  expect(asked.length).toBeGreaterThan(25)

  const plain = new Database(rig.file, { readonly: true })
  try {
    const scans = asked.flatMap(({ sql, parameters }) => {
      const steps = plain.prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]
      // The newest row by its number is the end of the table itself.
      if (/order by "inbox_id" desc limit \?$/.test(sql) && parameters.at(-1) === 1) return []
      return steps.filter(({ detail }) => LARGE.test(detail)).map(({ detail }) => `${detail}: ${sql}`)
    })
    expect(scans).toEqual([])
  } finally {
    plain.close()
  }
})
