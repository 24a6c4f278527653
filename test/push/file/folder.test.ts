import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { folderTarget } from '../../../src/push/file/folder.ts'
import { startChild } from '../../tools/child.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { until } from '../../tools/until.ts'
import { folderKind, pushItem, pushItems, readDrop, readRows, send, slow, submissionOf } from './support.ts'

const HOUR = 3_600_000

describe('a drop of files into a folder', () => {
  it('puts waiting changes into one file, whose name contains the seqs, and a manifest with counts and hashes', async () => {
    const folder = newFolder()
    const outcomes = await send(folderKind(folder), pushItems(5))
    const { files, manifests, others } = readDrop(folder)
    expect(files).toEqual([expect.stringMatching(/^agency_000000001001-000000001005_[0-9a-f]{16}\.ndjson$/)])
    expect(others).toEqual([])
    const listed = { name: files[0], rows: 5, first_seq: 1001, last_seq: 1005 }
    expect(manifests).toMatchObject([{ name: files[0]?.replace('.ndjson', '.manifest.json'), rows: 5, files: [listed] }])
    expect(manifests[0]?.files[0]?.sha256.startsWith(files[0]?.slice(-23, -7) ?? '?')).toBe(true)
    expect(manifests[0]?.files[0]).not.toHaveProperty('account')
    expect(outcomes).toEqual(Array(5).fill({ type: 'delivered', status: null, remoteId: null, detail: files[0] }))
  })

  it('writes a change as one line of JSON', async () => {
    const folder = newFolder()
    const message = pushItem(2, {
      entity: 'thread_messages',
      operation: 'update',
      before: { subject: 'Grüße' },
      after: { subject: 'line\nbreak \u2028 "quoted"' },
      direction: 'sent',
      echo: true,
    })
    await send(folderKind(folder), [pushItem(1), message])
    const [first, second] = readRows(join(folder, readDrop(folder).files[0] ?? ''))
    expect(first).toEqual({
      message_id: '00000000-0000-5000-8000-000000000001',
      seq: 1001,
      account: 'acme',
      submission_id: submissionOf(1),
      entity: 'market_events',
      entity_id: JSON.stringify([submissionOf(1), 'event-1']),
      operation: 'insert',
      changed_at: '2026-11-21T12:00:00.000000Z',
      cause: 'webhook',
      snapshot: false,
      direction: null,
      echo: false,
      before: null,
      after: pushItem(1).after,
    })
    expect(second).toMatchObject({ direction: 'sent', echo: true, before: { subject: 'Grüße' }, after: message.after })
  })

  it('has a file for each submission, and one manifest for all of them', async () => {
    const folder = newFolder()
    const without = pushItem(7, { submissionId: null, entity: 'insureds' })
    const outcomes = await send(folderKind(folder, { per: 'submission' }), [...pushItems(6), without])
    const { files, manifests } = readDrop(folder)
    expect(files.map((name) => name.replace(/_[0-9a-f]{16}\./, '_#.'))).toEqual([
      `agency_acme_${submissionOf(0)}_000000001003-000000001006_#.ndjson`,
      `agency_acme_${submissionOf(1)}_000000001001-000000001004_#.ndjson`,
      `agency_acme_${submissionOf(2)}_000000001002-000000001005_#.ndjson`,
      'agency_acme_insureds_000000001007-000000001007_#.ndjson',
    ])
    expect(manifests).toHaveLength(1)
    const hash = createHash('sha256')
      .update(manifests[0]?.files.map(({ sha256 }) => sha256).join() ?? '')
      .digest('hex')
    expect(manifests[0]?.name).toBe(`agency_000000001001-000000001007_${hash.slice(0, 16)}.manifest.json`)
    expect(manifests[0]?.rows).toBe(7)
    expect(manifests[0]?.files.map(({ account, submission_id }) => [account, submission_id])).toEqual([
      ['acme', submissionOf(1)],
      ['acme', submissionOf(2)],
      ['acme', submissionOf(0)],
      ['acme', null],
    ])
    expect(outcomes[0]).toMatchObject({ detail: expect.stringContaining(submissionOf(1)) as string })
    expect(outcomes[6]).toMatchObject({ detail: expect.stringContaining('insureds') as string })
  })

  it('has separate files for each account, and for entities without a submission', async () => {
    const folder = newFolder()
    const of = (n: number, entity: string) => pushItem(n, { submissionId: null, entity })
    const items = [pushItem(1), pushItem(2, { submissionId: submissionOf(1), account: 'other' }), of(3, 'insureds'), of(4, 'policies')]
    await send(folderKind(folder, { per: 'submission' }), items)
    expect(readDrop(folder).manifests[0]?.files.map(({ rows, account }) => [rows, account])).toEqual([
      [1, 'acme'],
      [1, 'other'],
      [1, 'acme'],
      [1, 'acme'],
    ])
  })

  it('writes the same rows into the same file, in any order', async () => {
    const folder = newFolder()
    await send(folderKind(folder), pushItems(5))
    const before = readDrop(folder)
    const reversed = pushItems(5).map((item) => ({ ...item, attempts: 3 }))
    await send(folderKind(folder), reversed.reverse())
    expect(readDrop(folder)).toEqual(before)
    expect(readRows(join(folder, before.files[0] ?? '')).map((row) => row['seq'])).toEqual([1001, 1002, 1003, 1004, 1005])
  })

  it('writes other rows of the same seqs into a separate file', async () => {
    const folder = newFolder()
    const snapshot = (n: number) => pushItem(n, { seq: 500, snapshot: true })
    await send(folderKind(folder), [snapshot(1), snapshot(2)])
    await send(folderKind(folder), [snapshot(3)])
    expect(readDrop(folder).files).toHaveLength(2)
  })

  it('lets others have the event loop while it writes many rows', async () => {
    const folder = newFolder()
    const body = 'x'.repeat(2_000)
    const items = pushItems(10_000).map((item) => ({ ...item, after: { ...item.after, body } }))
    let turns = 0
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    await send(folderKind(folder), items)
    clearImmediate(next)
    expect(readDrop(folder).manifests[0]?.rows).toBe(10_000)
    expect(turns).toBeGreaterThanOrEqual(100)
  })

  it('leaves nothing open', async () => {
    const folder = newFolder()
    await send(folderKind(folder, { per: 'submission' }), pushItems(6))
    const open = readdirSync('/proc/self/fd').map((fd) => targetOf(`/proc/self/fd/${fd}`))
    expect(open.filter((path) => path.startsWith(folder))).toEqual([])
  })

  it('removes only its own temporary files that a crash has left', async () => {
    const folder = newFolder()
    const left = (name: string, ageMs: number) => {
      writeFileSync(join(folder, name), 'half')
      const at = new Date(Date.now() - ageMs)
      utimesSync(join(folder, name), at, at)
    }
    left('.agency~0123456789abcdef.part', 2 * HOUR)
    left('.agency~0123456789abcde0.part', HOUR / 2)
    left('.agency-2~0123456789abcdef.part', 2 * HOUR)
    left('.agenda~0123456789abcdef.part', 2 * HOUR)
    left('.agency~notes.part', 2 * HOUR)
    await send(folderKind(folder), pushItems(1))
    const others = ['agency-2~0123456789abcdef', 'agency~0123456789abcde0', 'agency~notes', 'agenda~0123456789abcdef']
    expect(readDrop(folder).others).toEqual(others.map((name) => `.${name}.part`))
  })

  it('looks for these once an hour', async () => {
    const folder = newFolder()
    const clock = new ManualClock()
    const kind = folderKind(folder, {}, clock)
    await send(kind, pushItems(1))
    const left = join(folder, '.agency~0123456789abcdef.part')
    writeFileSync(left, 'half')
    utimesSync(left, 0, 0)
    clock.advance(HOUR - 1)
    await send(kind, pushItems(1))
    expect(existsSync(left)).toBe(true)
    clock.advance(1)
    await send(kind, pushItems(1))
    expect(existsSync(left)).toBe(false)
  })

  it.each([
    ['batch', 300, 100],
    ['submission', 3, 1],
  ] as const)('gets on even when it is late from the beginning, with a file for each %s', async (per, count, delivered) => {
    let now = 0
    const late = Object.assign(new ManualClock(), { steady: () => (now += 20_000) })
    const outcomes = await send(folderKind(newFolder(), { per }, late), pushItems(count))
    expect(outcomes.filter(({ type }) => type === 'delivered')).toHaveLength(delivered)
    expect(outcomes.filter(({ type }) => type === 'not_attempted')).toHaveLength(count - delivered)
  })

  it('delivers what there was time for, and leaves the rest for the next attempt', async () => {
    const folder = newFolder()
    const clock = new ManualClock()
    // Each row takes a second of this clock to be made into text; rows are begun for 60 % of 100 s, and made 100 at a time.
    const kind = folderKind(folder, { timeoutMs: 250_000 }, clock)
    const outcomes = await send(
      kind,
      pushItems(500).map((item) => slow(item, clock, 1_000)),
    )
    expect(outcomes.map(({ type }) => type)).toEqual([...Array<string>(200).fill('delivered'), ...Array<string>(300).fill('not_attempted')])
    expect(readDrop(folder).manifests[0]).toMatchObject({ rows: 200, files: [{ first_seq: 1001, last_seq: 1200 }] })
  })
})

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

describe('a folder that cannot be written', () => {
  it('is not created when it is missing, and the rows wait', async () => {
    const folder = join(newFolder(), 'share')
    const outcomes = await send(folderKind(folder), pushItems(2))
    const error = `the folder ${folder} does not exist: create it, or mount its share`
    expect(outcomes).toEqual(Array(2).fill({ type: 'suspend', retry: 'soon', status: null, error }))
    expect(await folderKind(folder).probe(new AbortController().signal)).toEqual({ ok: false, text: error })
    mkdirSync(folder)
    expect((await send(folderKind(folder), pushItems(2)))[0]?.type).toBe('delivered')
  })

  it('is distinguished from a file', async () => {
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    expect((await send(folderKind(file), pushItems(1)))[0]).toMatchObject({
      type: 'suspend',
      error: `${file} is not a folder: set path to a folder`,
    })
  })

  it('says so when permission is missing', async () => {
    const folder = newFolder()
    chmodSync(folder, 0o555)
    const child = startChild('push/file/children/drop.ts', [folder, 'nobody'])
    const said = JSON.parse(await child.says('outcome')) as unknown
    expect(await child.ended()).toBe(0)
    expect(said).toMatchObject({
      type: 'suspend',
      error: `no permission to write in ${folder}: let the user of this process create, rename and remove files there`,
    })
  })

  it('leaves nothing behind when it is full, and continues when there is space', async () => {
    const folder = newFolder()
    const child = startChild('push/file/children/drop.ts', [folder, 'full'], 'ulimit -S -f 64')
    expect(JSON.parse(await child.says('outcome'))).toMatchObject({ type: 'suspend' })
    expect(readDrop(folder)).toEqual({ files: [], manifests: [], others: [] })
    child.tell('room')
    expect(JSON.parse(await child.says('outcome'))).toMatchObject({ type: 'delivered' })
    expect(await child.ended()).toBe(0)
    expect(readDrop(folder).manifests[0]?.rows).toBe(500)
  })
})

describe('a crash while files are written', () => {
  it.each(['write', 'manifest', 'rename', 'last'])(
    'at the %s leaves no half file under a final name, and a retry completes it',
    async (point) => {
      const folder = newFolder()
      const child = startChild('push/file/children/drop.ts', [folder, point])
      await child.ended()
      expect(child.process.signalCode).toBe('SIGKILL')
      const after = readDrop(folder)
      expect(after.manifests).toEqual([])
      expect(after.files).toHaveLength(point === 'last' ? 3 : point === 'rename' ? 1 : 0)
      const items = pushItems(500)
      const outcomes = await send(folderKind(folder, { per: 'submission' }), items)
      expect(outcomes.every(({ type }) => type === 'delivered')).toBe(true)
      const { files, manifests } = readDrop(folder)
      expect([files.length, manifests.length]).toEqual([3, 1])
      expect(files).toEqual(expect.arrayContaining([...after.files]))
      const ids = files.flatMap((name) => readRows(join(folder, name)).map((row) => row['message_id']))
      expect(ids.sort()).toEqual(items.map((item) => item.messageId))
    },
  )
})

describe('time and shutdown', () => {
  it('aborts work that exceeds the time of an attempt', async () => {
    const folder = newFolder()
    const clock = new ManualClock()
    const kind = folderKind(folder, { timeoutMs: 20_000 }, clock)
    // The whole time passes while a row is read.
    const outcomes = await send(kind, [slow(pushItem(1), clock, 20_000, null)])
    const failed = { type: 'failed', permanent: false, alive: false, status: null, retryAfterMs: null }
    expect(outcomes).toEqual([{ ...failed, error: `the folder ${folder} did not accept the file within 20000 ms` }])
    expect(readDrop(folder).files).toEqual([])
  })

  it('writes nothing after a stop', async () => {
    const folder = newFolder()
    const outcomes = await send(folderKind(folder), pushItems(1), AbortSignal.abort(new Error('the process stops')))
    expect(outcomes[0]).toMatchObject({ type: 'failed', permanent: false, error: 'the process stops' })
    expect(readDrop(folder)).toEqual({ files: [], manifests: [], others: [] })
  })
})

describe('a share that does not answer', () => {
  it('is not asked again while an earlier call to it hangs', async () => {
    const target = folderTarget(newFolder())
    const [given, hanging] = [new AbortController(), Promise.withResolvers<void>()]
    async function* chunks(): AsyncGenerator<Buffer> {
      await hanging.promise
      yield Buffer.from('late')
    }
    const written = (await target.open(given.signal)).write('a', chunks())
    given.abort(new Error('it takes too long'))
    await expect(written).rejects.toThrow('it takes too long')
    const again = () => target.open(new AbortController().signal)
    await expect(again()).rejects.toThrow(/^the folder .* does not answer: an earlier call still waits; check its disk or share$/)
    hanging.resolve()
    await until('it has answered', () =>
      again().then(
        () => true,
        () => false,
      ),
    )
  })
})

describe('the probe', () => {
  it('writes and removes a file', async () => {
    const folder = newFolder()
    const before = statSync(folder).mtimeMs
    const probe = await folderKind(folder, {}, systemClock).probe(new AbortController().signal)
    expect(probe).toEqual({ ok: true, text: `a file was written, renamed and removed in the folder ${folder}` })
    expect(statSync(folder).mtimeMs).toBeGreaterThan(before)
    expect(readDrop(folder)).toEqual({ files: [], manifests: [], others: [] })
  })
})

describe('a manifest', () => {
  it('bears no time and no order of arrival: the same delivery is the same bytes', async () => {
    const texts = []
    for (const items of [pushItems(4), pushItems(4).reverse()]) {
      const folder = newFolder()
      await send(folderKind(folder, { per: 'submission' }), items)
      texts.push(readFileSync(join(folder, readDrop(folder).manifests[0]?.name ?? ''), 'utf8'))
    }
    expect(texts[0]).toBe(texts[1])
  })
})
