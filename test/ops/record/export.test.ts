import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPromise } from 'yauzl'
import { loadConfig } from '../../../src/config/config.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { checkRecord } from '../../../src/ops/record/check.ts'
import { zipOf } from '../../../src/ops/record/zip.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { runHere } from '../../app/run.ts'
import { sign } from '../../receive/support.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  byPoll,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { workInbox } from '../actions/purged.ts'
import { AdminRig, ALICE, BOB } from '../http/rig.ts'

const [ID, PURGED] = [uuid(9, 1), uuid(9, 2)]
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const [HELD, MISSING] = [uuid(4, 1), uuid(4, 2)]
const ALL = ['documents/', 'deliveries/', 'record.json', 'index.html', 'manifest.json']

async function contentsOf(path: string): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const zip = await openPromise(path)
  for await (const entry of zip.eachEntry()) {
    let text = ''
    for await (const chunk of await zip.openReadStreamPromise(entry)) text += String(chunk)
    files.set(entry.fileName, text)
  }
  return files
}

describe.each(testDatabases)('the record of a submission, on $name', (database) => {
  let rig: AdminRig
  let folder: string
  let env: Record<string, string>
  let early: string

  beforeAll(async () => {
    rig = await AdminRig.open(database, { OPS_TOKENS: `alice:${ALICE} bob:${BOB}:operator` })
    folder = mkdtempSync(join(tmpdir(), 'record-'))
    env = { ...rig.env, DOCUMENTS_DIR: join(folder, 'kept') }
    rig.config = loadConfig(env)
    await deliver('msg_first', ID, 1)
    await deliver('msg_other', PURGED, 2)
    early = timeFromMs(Date.now() + 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    const attachments = [HELD, MISSING].map((id) => ({ name: '<b>Binder</b>.pdf', download_path: `/broker/finalized-documents/${id}/pdf` }))
    const quote = { quote_id: 'q-1', premium_display: '$1,200', total_cents: 120_000, lines: [], is_revision: false }
    const state = (readNo: number, over: object) =>
      observedState(
        'default',
        ID,
        wireRequirements(ID, [wireLane(1, { quotes: [{ ...quote, ...over }] })], { insured_name: 'Harbor <i>Bakery</i>' }),
        readNo,
      )
    await applyAll(rig.db, [
      observedMessage('default', ID, wireMessage(1, { attachments, body_text: 'Line one\n<script>x</script>' }), byPoll),
    ])
    await applyAll(rig.db, [state(1, {})])
    await applyAll(rig.db, [state(2, { premium_display: '$900', total_cents: 90_000 })])
    const body = async function* () {
      yield Buffer.from('%PDF-1.4 the binder')
    }
    const stored = await new FolderStorage(join(folder, 'kept')).keep(body(), { maxBytes: 100, bytes: null, isPdf: true })
    const about = { account: 'default', submissionId: ID, cause: 'poll', triedAt: '2026-01-05T12:00:00.000000Z' } as const
    await applyAll(rig.db, [{ kind: 'document', ...about, documentKey: HELD, stored, error: null }])
  })
  afterAll(async () => {
    await rig.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function deliver(id: string, submission_id: string, n: number): Promise<void> {
    const body = Buffer.from(JSON.stringify({ type: 'submission.events', submission_id, events: [wireEvent(n)] }))
    const receivedAt = timeFromMs(Date.now())
    await new InboxAppender(rig.db).append([
      { account: 'default', deliveryId: id, receivedAt, headers: sign(SECRET, body, { id }), secret: 1, body },
    ])
    await workInbox(rig.db)
  }

  const command = (...args: string[]) => runHere(['submission', 'export', ...args], env)

  it('contains rows, documents, deliveries, a page and a manifest, and passes the check', async () => {
    const path = join(folder, 'whole.zip')
    expect(await command(ID, '--to', path)).toMatchObject({ code: 0, out: `exported submission ${ID} to ${path}\n` })
    const files = await contentsOf(path)
    expect([...new Set([...files.keys()].map((name) => name.replace(/\/.*/, '/')))]).toEqual(ALL)
    expect(files.get(`documents/${HELD}-_b_Binder_b_.pdf`)).toBe('%PDF-1.4 the binder')
    const record = JSON.parse(files.get('record.json') ?? '') as Record<string, object[]>
    expect(record).toMatchObject({
      quotes: [{ total_cents: 90_000 }],
      market_events: [{}],
      thread_messages: [{}],
      documents: [{}, {}],
    })
    expect(record['changes']?.length).toBeGreaterThan(5)
    const page = files.get('index.html') ?? ''
    for (const text of [
      'Harbor &lt;i&gt;Bakery',
      '$900 (before: $1,200)',
      'Line one\n&lt;script&gt;',
      'msg_first',
      'checked with webhook secret 1',
    ])
      expect(page).toContain(text)
    expect(page).not.toMatch(/<script|src=|http-equiv="refresh"/)
    expect(JSON.parse(files.get('manifest.json') ?? '')).toMatchObject({
      format: 1,
      exported_by: 'command',
      tax_ids: 'drop',
      gaps: expect.arrayContaining([expect.stringContaining('_b_Binder_b_.pdf is missing')]) as unknown[],
    })
    expect(await command('--check', path)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^5 files checked, 0 problems; 1 signature verified, 0 not/) as string,
    })
    expect((await command(ID, '--to', path)).err).toContain('already exists')
    expect((await rig.notes()).filter(({ action }) => action === 'submission.export')).toMatchObject([
      { who: 'command', target: 'default', detail: { submission: ID, files: 6 }, outcome: 'done' },
    ])
  })

  it('ends at the given time', async () => {
    const path = join(folder, 'early.zip')
    await command(ID, '--until', early, '--to', path)
    const files = await contentsOf(path)
    const record = JSON.parse(files.get('record.json') ?? '') as Record<string, object[]>
    expect([record['market_events']?.length, record['quotes'], record['thread_messages']]).toEqual([1, [], []])
    expect(files.get('index.html')).not.toContain('Line one')
  })

  it('fails the check with the name of the file if a file changed', async () => {
    const path = join(folder, 'whole.zip')
    const whole = readFileSync(path)
    const changed = join(folder, 'changed.zip')
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 100)) {
      const bytes = Buffer.from(whole)
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      writeFileSync(changed, bytes)
      const { problems } = await checkRecord(changed, new Map())

      expect(problems[0], `byte ${at}`).toMatch(/documents\/|deliveries\/|record\.json|index\.html|manifest\.json|changed\.zip/)
    }
    writeFileSync(changed, whole.subarray(0, whole.length / 2))
    expect(await command('--check', changed)).toMatchObject({ code: 1, err: expect.stringContaining('changed.zip is damaged') as string })
    expect(await command('--check', 'missing.zip')).toMatchObject({ code: 2, err: '--check: missing.zip does not exist; check the path\n' })
  })

  it('fails the check of a rewritten archive', async () => {
    const original = await contentsOf(join(folder, 'whole.zip'))
    const rewrite = async (name: string, files: ReadonlyMap<string, string>) => {
      const path = join(folder, name)
      const archive = zipOf(new Date(), async (pack) => {
        for (const [file, text] of files) await pack(file, [text])
      })
      await writeFile(path, archive)
      return await command('--check', path)
    }
    expect(await rewrite('same.zip', original)).toMatchObject({ code: 0 })
    const edited = new Map(original).set('record.json', '{}')
    expect((await rewrite('edited.zip', edited)).err).toBe('record.json differs from the manifest\n')
    const [body = ''] = [...original.keys()].filter((file) => file.endsWith('.txt'))
    const forged = new Map(original).set(body, '{}')
    expect((await rewrite('forged.zip', forged)).err).toMatch(/^deliveries\/\d+\.json is damaged: the signature does not match/)
    const lacking = new Map([...original].filter(([file]) => file !== 'index.html'))
    expect((await rewrite('lacking.zip', lacking)).err).toBe('index.html is missing\n')
  })

  it('is given to admins over HTTP', async () => {
    const path = `/submissions/default/${ID}/export`
    const { status, headers } = await rig.ask('GET', path)
    expect([status, headers.get('content-disposition')]).toEqual([200, `attachment; filename="record-${ID}.zip"`])
    expect((await rig.ask('GET', path, { token: BOB })).status).toBe(403)
    expect((await rig.ask('GET', `/submissions/default/${uuid(9, 9)}/export`)).status).toBe(404)
    expect((await rig.notes()).at(-1)).toMatchObject({ who: 'alice', action: 'submission.export' })
  })

  it('does not exist for a purged submission', async () => {
    await runHere(['purge', PURGED], env)
    const refused = `submission ${PURGED} was purged, so it can't be exported`
    expect(await command(PURGED, '--to', join(folder, 'no.zip'))).toMatchObject({ code: 2, err: `${refused}\n` })
    expect(await rig.ask('GET', `/submissions/default/${PURGED}/export`)).toMatchObject({ status: 404, json: { detail: refused } })
  })
})
