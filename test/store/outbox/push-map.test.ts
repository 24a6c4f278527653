import { describe, expect, it } from 'vitest'
import type { Db } from '../../../src/store/engine/db.ts'
import { listMappings, type MappingRow, releaseMappedStreams, storeMappings } from '../../../src/store/outbox/push-map.ts'
import type { StreamKey } from '../../../src/store/outbox/streams.ts'
import { type ClaimedStream, claimStreams, releaseStreams, settleStreams } from '../../../src/store/outbox/work.ts'
import { ACCOUNT, destinationOf, fanAll, mapByHand, openedDb, openedDbs, streamsIn } from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]
const ams = destinationOf('ams', { entities: ['market_events'] })

function mapping(submissionId: string, client: string, over: Partial<MappingRow> = {}): MappingRow {
  return { destination: 'ams', account: ACCOUNT, submissionId, client, policy: null, fields: {}, ...over }
}

function claim(db: Db, destination = 'ams'): Promise<ClaimedStream[]> {
  return claimStreams(db, destination, { streams: 10, rowsPerStream: 10, leaseMs: 60_000, uncertain: false })
}

function unmapped(stream: ClaimedStream) {
  return { stream, rows: [], next: { type: 'blocked', as: 'unmapped' } } as const
}

describe.each(testDatabases)('the map to an AMS on $name', ({ open }) => {
  it('is stored, replaced, found and listed', async () => {
    const db = await openedDb(open)
    await storeMappings(
      db,
      [mapping(TWO, 'C-2'), mapping(ONE, 'C-0', { fields: { branch: '7' } }), mapping(ONE, 'C-1', { policy: 'P-1' })],
      'import',
    )
    await storeMappings(db, [mapping(ONE, 'other', { destination: 'crm' })], 'lookup')
    await storeMappings(db, [mapping(TWO, 'C-3\u0000', { fields: { desk: 'a"b' } })], 'admin')
    expect(await listMappings(db.read, { destination: 'ams', account: ACCOUNT }, 10)).toMatchObject([
      { submission_id: ONE, client: 'C-1', policy: 'P-1', fields: {}, mapped_via: 'import', mapped_at: expect.stringMatching(/^\d{4}-/) },
      { submission_id: TWO, client: 'C-3\uFFFD', policy: null, fields: { desk: 'a"b' }, mapped_via: 'admin' },
    ])
    expect(await listMappings(db.read, { account: 'other' }, 10)).toEqual([])
    expect((await listMappings(db.read, {}, 10)).map((row) => [row.destination, row.submission_id])).toEqual([
      ['ams', ONE],
      ['ams', TWO],
      ['crm', ONE],
    ])
    expect(await listMappings(db.read, { destination: 'ams', submissionId: ONE, account: ACCOUNT }, 10)).toHaveLength(1)
    expect(await listMappings(db.read, {}, 1)).toHaveLength(1)
  })

  it('is as old as its client, policy and fields, however often they are stored', async () => {
    const db = await openedDb(open)
    const same = mapping(ONE, 'C-1', { policy: 'P-1', fields: { branch: '7' } })
    await storeMappings(db, [same, mapping(TWO, 'C-2')], 'import')
    const shown = () => listMappings(db.read, {}, 10)
    const before = await shown()
    await storeMappings(db, [same, mapping(TWO, 'C-2')], 'admin')
    expect(await shown()).toEqual(before)
    const without = { ...same, policy: null }
    await storeMappings(db, [without], 'admin')
    expect((await shown())[0]).toMatchObject({ policy: null, mapped_via: 'admin' })
    await storeMappings(db, [{ ...without, fields: { branch: '8' } }], 'lookup')
    expect((await shown())[0]).toMatchObject({ fields: { branch: '8' }, mapped_via: 'lookup' })
  })

  it('unblocks the streams that waited for it with all their rows, and no others', async () => {
    const db = await openedDb(open)
    for (const submission of [ONE, TWO]) await applyEach(db, [1, 2], (n) => observedEvent(ACCOUNT, submission, wireEvent(n)))
    await fanAll(db, [ams])
    await settleStreams(db, (await claim(db)).map(unmapped))
    expect((await streamsIn(db)).map((stream) => stream.blocked)).toEqual(['unmapped', 'unmapped'])
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(3))])
    await fanAll(db, [ams])
    expect(await claim(db)).toEqual([])
    await storeMappings(db, [mapping(ONE, 'C-1', { fields: { branch: '7' } }), mapping(TWO, 'x', { destination: 'crm' })], 'import')
    const [stream, ...others] = await claim(db)
    expect(others).toEqual([])
    expect(stream?.rows).toHaveLength(3)
    expect(stream?.rows[0]?.mapping).toEqual({ client: 'C-1', policy: null, fields: { branch: '7' } })
    expect((await streamsIn(db)).map((one) => one.blocked)).toEqual([null, 'unmapped'])
  })

  it('leaves a stream to the process that is looking up its client', async () => {
    const db = await openedDb(open)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1))])
    await fanAll(db, [ams])
    await settleStreams(db, (await claim(db)).map(unmapped))
    const looking = await claimStreams(db, 'ams', { streams: 10, rowsPerStream: 10, leaseMs: 60_000, uncertain: false, unmapped: true })
    expect(looking).toHaveLength(1)
    await storeMappings(db, [mapping(ONE, 'C-1')], 'import')
    expect(await claim(db)).toEqual([])
    await releaseStreams(db, looking, { clearUncertain: false })
    expect(await claim(db)).toMatchObject([{ stream: ONE, rows: [{ mapping: { client: 'C-1' } }] }])
  })

  it('that is stored while a stream is settled as unmapped blocks it not for ever, at any moment', async () => {
    const [db, other] = (await openedDbs(open, 2)) as [Db, Db]
    const submissions = Array.from({ length: 12 }, (_, n) => uuid(9, n))
    await applyEach(db, submissions, (submission) => observedEvent(ACCOUNT, submission, wireEvent(1)))
    await fanAll(db, [ams])
    for (const stream of await claim(db)) {
      await Promise.all([settleStreams(db, [unmapped(stream)]), storeMappings(other, [mapping(stream.stream, 'C')], 'import')])
    }
    expect((await streamsIn(db)).filter((stream) => stream.blocked !== null)).toEqual([])
    const left = await claimStreams(db, 'ams', { streams: 20, rowsPerStream: 1, leaseMs: 1, uncertain: false })
    expect(left).toHaveLength(12)
  })

  it('unblocks neither a held stream, nor one of another destination or account', async () => {
    const db = await openedDb(open)
    const crm = destinationOf('crm', { entities: ['market_events'] })
    for (const submission of [ONE, TWO]) await applyAll(db, [observedEvent(ACCOUNT, submission, wireEvent(1))])
    await fanAll(db, [ams, crm])
    const [held, waiting] = (await claim(db)) as [ClaimedStream, ClaimedStream]
    const elsewhere = [mapping(TWO, 'x', { destination: 'other' }), mapping(TWO, 'x', { account: 'other' })]
    await storeMappings(db, elsewhere, 'import')
    await settleStreams(db, [{ stream: held, rows: [], next: { type: 'blocked', as: 'held' } }, unmapped(waiting)])
    await settleStreams(db, (await claim(db, 'crm')).map(unmapped))
    await storeMappings(db, [...elsewhere, mapping(ONE, 'C-1')], 'import')
    const blocked = async () => (await streamsIn(db)).map((stream) => [stream.destination, stream.stream, stream.blocked])
    const before = [
      ['ams', ONE, 'held'],
      ['ams', TWO, 'unmapped'],
      ['crm', ONE, 'unmapped'],
      ['crm', TWO, 'unmapped'],
    ]
    expect(await blocked()).toEqual(before)
    expect(await releaseMappedStreams(db, 'ams', null, 10)).toBeNull()
    expect(await blocked()).toEqual(before)
    expect(await releaseMappedStreams(db, 'ams', null, 10, false)).toBeNull()
    expect(await blocked()).toEqual(
      before.map(([destination, stream, as]) => [destination, stream, stream === TWO && destination === 'ams' ? null : as]),
    )
  })

  it('may be written by hand: missing values are filled in, and unreadable ones rejected', async () => {
    const db = await openedDb(open)
    await mapByHand(db, ONE, 'C-1')
    const { submissionId: submission_id, ...mapped } = mapping(ONE, 'C-1')
    expect(await listMappings(db.read, {}, 10)).toEqual([
      { ...mapped, submission_id, mapped_via: 'sql', mapped_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) },
    ])
    for (const fields of ['"north"', '["north"]', 'north']) {
      await expect(mapByHand(db, TWO, 'C-2', fields)).rejects.toThrow(/push_map_fields|json/)
    }
    await mapByHand(db, TWO, 'C-2', '{"branch": "north"}')
    expect(await listMappings(db.read, { submissionId: TWO }, 10)).toMatchObject([{ fields: { branch: 'north' } }])
  })

  it('that was written by hand unblocks the streams that waited for it, page by page', async () => {
    const db = await openedDb(open)
    const submissions = Array.from({ length: 5 }, (_, n) => uuid(9, n))
    await applyEach(db, submissions, (submission) => observedEvent(ACCOUNT, submission, wireEvent(1)))
    await fanAll(db, [ams])
    await settleStreams(db, (await claim(db)).map(unmapped))
    const mapped = [1, 3, 4].map((n) => uuid(9, n))
    for (const submission of mapped) await mapByHand(db, submission, 'C-1')
    await mapByHand(db, uuid(9, 0), 'C-1', null, 'crm')
    expect(await claim(db)).toEqual([])
    const pages: (string | undefined)[] = []
    for (let after: StreamKey | null = null; ; pages.push(after.stream)) {
      after = await releaseMappedStreams(db, 'ams', after, 2)
      if (after === null) break
    }
    expect(pages).toEqual([uuid(9, 1), uuid(9, 3)])
    expect((await streamsIn(db)).filter((stream) => stream.blocked === null).map(({ stream }) => stream)).toEqual(mapped)
    expect((await claim(db)).map(({ stream }) => stream)).toEqual(mapped)
    expect(await releaseMappedStreams(db, 'ams', null, 10)).toBeNull()
    expect(await releaseMappedStreams(db, 'nobody', null, 10)).toBeNull()
  })
})
