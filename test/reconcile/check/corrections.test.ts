import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { lanes } from '../../../src/model/entities/lanes.ts'
import { threadAttachments } from '../../../src/model/entities/thread-attachments.ts'
import { threadMessages } from '../../../src/model/entities/thread-messages.ts'
import { parseExact } from '../../../src/model/exact-json.ts'
import { listFindings } from '../../../src/store/reconcile/findings.ts'
import type { RunRow } from '../../../src/store/reconcile/runs.ts'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import type { FeedPage } from '../../../src/upstream/wire/answers.ts'
import { onSqlite, runSql, type TestDatabase } from '../../tools/databases.ts'
import { hastyClock } from '../../tools/hasty-clock.ts'
import { applyAll, applyEach, rowsOf } from '../../tools/mirror.ts'
import { byPoll, observedEvent, observedMessage } from '../../tools/observations.ts'
import { findingTexts } from '../damage/rig.ts'
import { ACCOUNT, RunRig } from '../rig.ts'

type Item = Record<string, unknown>

async function whole(database: TestDatabase, events = 0): Promise<{ rig: RunRig; id: string; event: string }> {
  const rig = await RunRig.open(database, 1)
  const id = rig.ids[0] as string
  const items = Array.from({ length: events }, () => ({ type: 'status_changed' }))
  rig.sandbox.addEvents(ACCOUNT, id, items)
  await rig.reconcile()
  return { rig, id, event: String(rig.sandbox.truth(ACCOUNT, id)[0]?.events[0]?.id) }
}

/** Changes pages of events; `change` gets the number of the full re-read, from 1. */
function through(client: UpstreamClient, change: (page: FeedPage<unknown>, replay: number) => Promise<unknown[]>): UpstreamClient {
  let replays = 0
  return {
    ...client,
    events: async (id, since, ...rest) => {
      if (since === null) replays += 1
      const replay = replays
      const page = await client.events(id, since, ...rest)
      return { ...page, items: await change(page, replay) }
    },
  }
}

function withItem({ items }: FeedPage<unknown>, id: string, patch: Item): unknown[] {
  return items.map((item) => ((item as Item)['id'] === id ? { ...(item as Item), ...patch } : item))
}

async function rowOf(rig: RunRig, event: string) {
  const columns = ['detail', 'market_name', 'lane_id', 'category', 'raw'] as const
  return await rig.db.read.sql.selectFrom('market_events').select(columns).where('event_id', '=', event).executeTakeFirst()
}

async function kept(rig: RunRig, letters: readonly string[]) {
  const messages = (await rowsOf(rig.db, threadMessages)).filter((row) => letters.includes(String(row['message_id'])))
  const attachments = await rowsOf(rig.db, threadAttachments)
  return {
    to: messages.map((row) => row['to_addresses']),
    attachments: attachments.map((row) => `${row['message_id']} ${row['position']}${row['gone_at'] === null ? '' : ' gone'}`).sort(),
  }
}

async function findingTextsOf(rig: RunRig, run: RunRow): Promise<string[]> {
  return findingTexts(await listFindings(rig.db.read, { runId: run.run_id }))
}

it.each(onSqlite)('a correction keeps later changes, on $name', async (database) => {
  const { rig, id, event } = await whole(database)
  const shown = rig.sandbox.world.submission(ACCOUNT, id).events.amend(event, { detail: 'Too old a roof' })
  await applyAll(rig.db, [observedEvent(ACCOUNT, id, shown)])
  const before = await rowOf(rig, event)
  const origin = { via: 'reconcile', cause: 'reconcile', isFullRead: true, firstFeedRead: false } as const
  const old = { ...shown, detail: null, market: null }
  await applyAll(rig.db, [observedEvent(ACCOUNT, id, old, { ...origin, corrects: [] })])
  expect(await rowOf(rig, event)).toEqual(before)
  await applyAll(rig.db, [observedEvent(ACCOUNT, id, old, { ...origin, corrects: ['detail'] })])
  expect(await rowOf(rig, event)).toEqual({ ...before, detail: null })
})

it.each(onSqlite)('a changed list of a message is corrected only if two full re-reads agree, on $name', async (database) => {
  const { rig, id } = await whole(database)
  const [a, b] = ['a.pdf', 'b.pdf'].map((name) => ({ name, download_path: null }))
  const letters = [[a], [a, b]].map((attachments) => {
    const added = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Text', to: [], attachments: attachments as never }, { quiet: true })
    return added.id
  })
  await rig.reconcile()
  const before = await kept(rig, letters)
  const [grown, shrunk] = letters.map((letter, n) =>
    rig.sandbox.world.submission(ACCOUNT, id).thread.amend(letter, { to: ['a@b.example'], attachments: (n === 0 ? [a, b] : []) as never }),
  )
  await applyEach(rig.db, [grown, shrunk], (shown) => observedMessage(ACCOUNT, id, shown, byPoll))
  expect(await kept(rig, letters)).toEqual(before)
  const evidence = await rig.db.read.sql.selectFrom('sync_conflicts').select('fields').execute()
  expect(evidence.map(({ fields }) => fields)).toEqual(['to_addresses,attachments', 'to_addresses,attachments'])
  const from = rig.sandbox.activity.requests.length
  expect(await rig.reconcile()).toMatchObject({ exit_code: 0 })
  expect(rig.sandbox.activity.requests.slice(from).filter(({ operation }) => operation === 'thread')).toHaveLength(2)
  expect(await kept(rig, letters)).toEqual({
    to: [['a@b.example'], ['a@b.example']],
    attachments: [`${letters[0]} 0`, `${letters[0]} 1`, `${letters[1]} 0 gone`, `${letters[1]} 1 gone`].sort(),
  })
  await applyEach(rig.db, [grown, shrunk], (shown) => observedMessage(ACCOUNT, id, shown, byPoll))
  expect(await rig.db.read.sql.selectFrom('sync_conflicts').select('fields').execute()).toHaveLength(2)
  expect(await rig.reconcile()).toMatchObject({ exit_code: 0, different: 0, missing: 0, absent: 0 })
})

it.each(onSqlite)('a rounded number in raw is corrected, and the submission reconciled, on $name', async (database) => {
  const { rig, event } = await whole(database)
  // As sent, and as stored when numbers were rounded.
  const numbered = (item: Item, number: string) => JSON.stringify({ ...item, odd: '#' }).replace('"#"', number)
  const client = through(rig.client, async ({ items }) =>
    items.map((item) => ((item as Item)['id'] === event ? parseExact(numbered(item as Item, '12345678901234567890')) : item)),
  )
  const kept = JSON.parse(String((await rowOf(rig, event))?.raw)) as Item
  await runSql(rig.db, sql`update market_events set raw = ${numbered(kept, '12345678901234567000')} where event_id = ${event}`)
  const run = await rig.reconcile({}, { client })
  expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
    code: 0,
    found: [`different market_events ${event} (raw)`],
  })
  expect((await rowOf(rig, event))?.raw).toBe(numbered(kept, '12345678901234567890'))
  expect(await rig.reconcile({}, { client })).toMatchObject({ exit_code: 0, different: 0 })
})

it.each(onSqlite)('the second state read counts: a value missing only from the first is no finding, on $name', async (database) => {
  const { rig } = await whole(database)
  let reads = 0
  const client: UpstreamClient = {
    ...rig.client,
    state: async (read, ...asked) => {
      const view = (await rig.client.state(read, ...asked)) as Item
      if (read !== 'requirements') return view
      reads += 1
      return reads === 1 ? { ...view, rail: { lanes: ['no lane'], quote_history: [], quote_history_unavailable: false } } : view
    },
  }
  const before = await rowsOf(rig.db, lanes)
  const run = await rig.reconcile({}, { client })
  expect({ code: run.exit_code, found: await findingTextsOf(rig, run), reads }).toEqual({ code: 0, found: [], reads: 2 })
  expect(await rowsOf(rig.db, lanes)).toEqual(before)
})

describe.each(onSqlite.flatMap((database) => [0, 120].map((more) => ({ database, more, name: database.name }))))(
  'corrections of records, of a feed of 1 + $more events on $name',
  ({ database, more }) => {
    it('a value delivered during a full re-read is not cleared', async () => {
      const { rig, id, event } = await whole(database, more)
      const client = through(rig.client, async (page, replay) => {
        if (replay === 1 && page.items.some((item) => (item as Item)['id'] === event)) {
          const filled = rig.sandbox.world.submission(ACCOUNT, id).events.amend(event, { detail: 'Too old a roof' })
          await applyAll(rig.db, [observedEvent(ACCOUNT, id, filled)])
        }
        return [...page.items]
      })
      const run = await rig.reconcile({}, { client })
      expect(await rowOf(rig, event)).toMatchObject({ detail: 'Too old a roof' })
      // `raw` follows the feed, not deliveries.
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
        code: 0,
        found: [`different market_events ${event} (raw)`],
      })
    })

    it('one damaged answer clears nothing', async () => {
      const { rig, event } = await whole(database, more)
      const before = await rowOf(rig, event)
      const client = through(rig.client, async (page, replay) =>
        replay === 1 ? withItem(page, event, { market: 'none' }) : [...page.items],
      )
      const run = await rig.reconcile({}, { client })
      expect(await rowOf(rig, event)).toEqual(before)
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({ code: 0, found: [] })
    })

    it('one damaged answer hides no derived value', async () => {
      const { rig, id, event } = await whole(database, more)
      await rig.db.write('test', (tx) =>
        tx.sql.updateTable('submissions').set({ last_message_at: null }).where('submission_id', '=', id).execute(),
      )
      const client = through(rig.client, async (page, replay) =>
        replay === 1 ? withItem(page, event, { market: 'none' }) : [...page.items],
      )
      const run = await rig.reconcile({}, { client })
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
        code: 0,
        found: ['different submissions (last_message_at)'],
      })
    })

    it('two equal full re-reads correct a value; a dry run only reports it', async () => {
      const { rig, id, event } = await whole(database, more)
      rig.sandbox.world.submission(ACCOUNT, id).events.amend(event, { market: 'none' as never, detail: 'New' })
      const before = await rowOf(rig, event)
      const found = [expect.stringMatching(/^different market_events .* \(category, detail, market_lines, market_name\)$/)]
      const dry = await rig.reconcile({ dry_run: true })
      expect({ code: dry.exit_code, found: await findingTextsOf(rig, dry) }).toEqual({ code: 3, found })
      expect(await rowOf(rig, event)).toEqual(before)
      const run = await rig.reconcile()
      expect({ code: run.exit_code, repaired: run.repaired, found: await findingTextsOf(rig, run) }).toEqual({
        code: 0,
        repaired: 1,
        found,
      })
      expect(await rowOf(rig, event)).toMatchObject({ detail: 'New', market_name: null })
      expect(await rig.reconcile()).toMatchObject({ exit_code: 0, different: 0 })
    })

    it('two different full re-reads change nothing, and reconcile nothing', async () => {
      const { rig, event } = await whole(database, more)
      const before = await rowOf(rig, event)
      const proof = () => rig.db.read.sql.selectFrom('sync_reconciled').select(['run_id', 'reconciled_at']).execute()
      const reconciled = await proof()
      const client = through(rig.client, async (page, replay) => withItem(page, event, { market: { name: `Market of replay ${replay}` } }))
      const run = await rig.reconcile({}, { client })
      expect(await rowOf(rig, event)).toEqual(before)
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
        code: 3,
        found: [expect.stringMatching(`^different market_events ${event} `)],
      })
      expect(run).toMatchObject({ repaired: 0, different: 1 })
      expect(await proof()).toEqual(reconciled)
    })

    it('a value cleared only by the second full re-read is kept, and nothing else corrected', async () => {
      const { rig, event } = await whole(database, more)
      const before = await rowOf(rig, event)
      const client = through(rig.client, async (page, replay) =>
        withItem(page, event, { status: 'withdrawn', ...(replay === 1 ? {} : { market: 'none' }) }),
      )
      const run = await rig.reconcile({}, { client })
      expect(await rowOf(rig, event)).toEqual(before)
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
        code: 3,
        found: [expect.stringMatching(`^different market_events ${event} .*status`)],
      })
    })

    it('a value that cannot be read twice is not corrected, and exits 1', async () => {
      const { rig, id, event } = await whole(database, more)
      const before = await rowOf(rig, event)
      rig.sandbox.world.submission(ACCOUNT, id).events.amend(event, { detail: 'Read once' })
      await rig.db.write('test', (tx) =>
        tx.sql.updateTable('market_events').set({ detail: 'Kept' }).where('event_id', '=', event).execute(),
      )
      const client = through(rig.client, async (page, replay) => {
        const last = page.nextCursor === null
        if (replay === 1 && last) rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'events' })
        return [...page.items]
      })
      const run = await rig.reconcile({}, { client, clock: hastyClock })
      expect(await rowOf(rig, event)).toMatchObject({ ...before, detail: 'Kept' })
      expect({ code: run.exit_code, found: await findingTextsOf(rig, run) }).toEqual({
        code: 1,
        found: [`different market_events ${event} (detail)`, 'unreadable events'],
      })
    })
  },
)
