import { describe, expect, it } from 'vitest'
import { recordRequests, startRecords } from '../../emulators/records.ts'
import type { Fault } from '../../emulators/server.ts'
import { type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { uuid } from '../../tools/observations.ts'
import { outboxOf } from '../outbox.ts'
import { PushRig } from '../presets/rig.ts'
import { deliveredBecomesUncertain, storing } from '../presets/storing.ts'

const SUBMISSION = uuid(9, 1)
const BYTES = '%PDF-1.7 the quote'
const { lookup } = recordRequests

interface Case {
  readonly name: string
  readonly faults: readonly Fault[]
  readonly lookup?: string
  readonly isIdempotent?: boolean
  readonly namesPutWhenFound?: boolean
  readonly arrives: string
  readonly ends: { readonly state: string; readonly error?: unknown; readonly detail?: string }
  readonly file: string | null
}

const delivered = { state: 'delivered' }

const cases: readonly Case[] = [
  { name: 'nothing goes wrong', faults: [], arrives: 'POST PUT', ends: delivered, file: BYTES },
  { name: 'the answer to the upload is lost', faults: ['take', 'lose'], lookup, arrives: 'POST PUT PUT', ends: delivered, file: BYTES },
  { name: 'the upload does not arrive', faults: ['take', 'drop'], lookup, arrives: 'POST PUT PUT', ends: delivered, file: BYTES },
  { name: 'the upload is refused twice', faults: ['take', 'refuse', 'refuse'], arrives: 'POST PUT PUT PUT', ends: delivered, file: BYTES },
  {
    name: 'the upload is refused by a target that may get a change twice',
    faults: ['take', 'refuse'],
    isIdempotent: true,
    arrives: 'POST PUT PUT',
    ends: delivered,
    file: BYTES,
  },
  {
    name: 'the upload is never answered',
    faults: ['take', 'drop', 'drop', 'drop', 'drop'],
    lookup,
    arrives: 'POST PUT PUT PUT PUT',
    ends: { state: 'dead', error: expect.stringMatching(/^upload: no answer/) },
    file: null,
  },
  {
    name: 'the answer to the record is lost, and the lookup finds it',
    faults: ['lose'],
    lookup,
    arrives: 'POST GET PUT',
    ends: { state: 'delivered', detail: 'the target has the record: the lookup found it' },
    file: BYTES,
  },
  { name: 'the record does not arrive', faults: ['drop'], lookup, arrives: 'POST GET POST PUT', ends: delivered, file: BYTES },
  {
    name: 'the lookup does not name where the document goes',
    faults: ['lose'],
    lookup,
    namesPutWhenFound: false,
    arrives: 'POST GET',
    ends: {
      state: 'dead',
      error:
        'the target has the record, but the `upload` request cannot be built from the answer to `lookup`: upload.url did not return a URL',
    },
    file: null,
  },
]

describe.each(testDatabases)('a document whose record goes first, on $name', (database) => {
  it.each(cases)('$name', async ({ faults, lookup: look, isIdempotent = false, namesPutWhenFound = true, arrives, ends, file }) => {
    const ams = await startRecords({ namesPutWhenFound })
    const { rig, store } = await start(database, ams.url, look, isIdempotent)
    ams.fail(...faults)
    await store(1, BYTES)
    const [, row] = await rig.becomes('skipped', ends.state)
    expect(row).toMatchObject(ends)
    expect(ams.records).toEqual([{ ref: row?.message_id, file }])
    expect(ams.methods()).toBe(arrives)
    expect(row?.remote_id).toBe('r-0')
    // The target's answer is kept only while it is needed.
    const stored = (await outboxOf(rig.db)).map(({ progress }) => progress)
    expect(stored).toEqual([null, ends.state === 'delivered' ? null : expect.stringContaining('record_taken')])
    await ams.close()
  })

  it('is made once by a target whose search lags: a search that finds nothing counts only after lookup_after', async () => {
    const ams = await startRecords({ lag: 1 })
    const { rig, store } = await start(database, ams.url, `${lookup}, lookup_after: 2s`, false)
    ams.fail('lose')
    await store(1, BYTES)
    const [, row] = await rig.becomes('skipped', 'delivered')
    expect(ams.records).toEqual([{ ref: row?.message_id, file: BYTES }])
    expect(ams.methods()).toBe('POST GET GET PUT')
    await ams.close()
  })

  it('is not uploaded again if the lookup after a restore finds the document', async () => {
    const ams = await startRecords()
    const { rig, store } = await start(database, ams.url, lookup, false)
    await store(1, BYTES)
    await rig.becomes('skipped', 'delivered')
    await deliveredBecomesUncertain(rig)
    await rig.becomes('skipped', 'delivered')
    expect(ams.methods()).toBe('POST PUT GET')
    await ams.close()
  })
})

async function start(database: TestDatabase, url: string, look: string | undefined, isIdempotent: boolean) {
  const folder = newFolder()
  const { request, upload } = recordRequests
  const keys = [
    `name: ams, kind: http, entities: [documents], documents: true, allow_private: true, settings: { base_url: "${url}" }`,
    `idempotent: ${isIdempotent}, schedule: [20ms, 20ms, 20ms], timeout: 30s, request: ${request}, upload: ${upload}, remote_id: body.id`,
    ...(look === undefined ? [] : [`lookup: ${look}`]),
  ]
  const rig = await PushRig.start(database, `{ ${keys.join(', ')} }`, { DOCUMENTS_DIR: folder })
  await rig.track(SUBMISSION)
  await rig.run()
  return { rig, store: storing(rig, folder, SUBMISSION) }
}
