import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { letTimePass } from '../../e2e/time.ts'
import type { SftpServer } from '../../emulators/sftp-server.ts'
import { testDatabases } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { until } from '../../tools/until.ts'
import { outboxOf } from '../outbox.ts'
import { ACCOUNT, PushRig } from '../presets/rig.ts'
import { PASSWORD, place } from './sftp-place.ts'
import { pushItems, readDrop, readRows, send } from './support.ts'

const PER_SUBMISSION = { per: 'submission' } as const
const HOURS_AGO = new Date(Date.now() - 2 * 3_600_000)

const writing: readonly (readonly [string, RegExp])[] = ['-1', ''].flatMap((part) =>
  ['open', 'write', 'fsync', 'close'].map(
    (step) =>
      [`${step} ${part === '' ? 'the manifest' : 'a file of rows'}`, new RegExp(`^${step} /\\.agency~[0-9a-f]+${part}\\.part`)] as const,
  ),
)
const renaming: readonly (readonly [string, RegExp])[] = [
  ['rename a file of rows', /rename \/\.agency~[0-9a-f]+-1\.part/],
  ['rename the manifest', /rename .*manifest\.json/],
]

/** The first matching request fails, and closes the connection. */
function failOnce(server: SftpServer, request: RegExp, fault: 'cut' | 'lose'): void {
  server.fault = (heard) => {
    if (!request.test(heard)) return null
    server.fault = () => null
    return fault
  }
}

function next(items: readonly PushItem[], outcomes: readonly Outcome[]): PushItem[] {
  return items.map((item, place) => {
    const outcome = outcomes[place]
    return { ...item, progress: (outcome?.type === 'unknown' && outcome.progress) || item.progress }
  })
}

/** Every row exists once, each file is listed in a manifest, and nothing else exists. */
function expectOnce(folder: string, seqs: readonly unknown[]): void {
  const { files, manifests, others } = readDrop(folder)
  expect(others).toEqual([])
  expect(files.flatMap((name) => readRows(join(folder, name)).map((row) => row['seq'])).sort()).toEqual(seqs)
  expect(manifests.flatMap((manifest) => manifest.files.map(({ name }) => name)).sort()).toEqual(files)
}

const partsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.part'))
const all = Array.from({ length: 8 }, (_, n) => 1_001 + n)

describe.each(['cut', 'lose'] as const)('a connection that is closed (%s)', (fault) => {
  it.each(writing)('at %s leaves nothing, and each row is written once', async (_, request) => {
    const { folder, server, kind } = await place()
    const files = kind(PER_SUBMISSION)
    failOnce(server, request, fault)
    const outcomes = await send(files, pushItems(5))
    expect(outcomes.map(({ type }) => type)).toEqual(Array(5).fill('failed'))
    await server.left()
    const more = await send(files, [...next(pushItems(5), outcomes), ...pushItems(3, 6)])
    expect(more.map(({ type }) => type)).toEqual(Array(8).fill('delivered'))
    expectOnce(folder, all)
  })

  it.each(renaming.flatMap(([name, request]) => [true, false].map((openssh) => [name, openssh, request] as const)))(
    'at %s (OpenSSH %s) is finished by another process, before it writes new rows',
    async (_, openssh, request) => {
      const { folder, server, kind } = await place({ password: PASSWORD, openssh })
      failOnce(server, request, fault)
      const outcomes = await send(kind(PER_SUBMISSION), pushItems(5))
      expect(outcomes.map(({ type }) => type)).toEqual(Array(5).fill('unknown'))
      await server.left()
      const rows = next(pushItems(5), outcomes)
      const [first] = await send(kind(PER_SUBMISSION), rows.slice(0, 1))
      const more = await send(kind(PER_SUBMISSION), [...rows.slice(1), ...pushItems(3, 6)])
      expect([first, ...more].map((outcome) => outcome?.type)).toEqual(Array(8).fill('delivered'))
      expectOnce(folder, all)
    },
  )
})

it('is finished though a reader has taken the files away', async () => {
  const { folder, server, kind } = await place()
  failOnce(server, /manifest\.json/, 'lose')
  const outcomes = await send(kind(), pushItems(5))
  await server.left()
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
  const again = await send(kind(), next(pushItems(5), outcomes))
  expect(again.map(({ type }) => type)).toEqual(Array(5).fill('delivered'))
  expect(readdirSync(folder)).toEqual([])
})

it('is written again where the destination writes now', async () => {
  const { folder, server, kind } = await place()
  mkdirSync(join(folder, 'new'))
  failOnce(server, /rename/, 'cut')
  const outcomes = await send(kind(), pushItems(8))
  await server.left()
  const again = await send(kind({}, { path: '/new' }), next(pushItems(8), outcomes))
  expect(again.map(({ type }) => type)).toEqual(Array(8).fill('delivered'))
  expectOnce(join(folder, 'new'), all)
})

it.each([
  ['is gone', (path: string) => rmSync(path)],
  ['is no manifest', (path: string) => writeFileSync(path, '{}')],
  ['names other places', (path: string) => writeFileSync(path, '{"files": [{"name": "../agency.ndjson"}]}')],
])('is written again if its manifest %s', async (_, harm) => {
  const { folder, server, kind } = await place()
  failOnce(server, /rename/, 'cut')
  const outcomes = await send(kind(), pushItems(8))
  await server.left()
  harm(join(folder, partsIn(folder).find((name) => !name.includes('-')) ?? ''))
  const again = await send(kind(), next(pushItems(8), outcomes))
  expect(again.map(({ type }) => type)).toEqual(Array(8).fill('delivered'))
  expectOnce(folder, all)
})

it.each(testDatabases)(
  'an unfinished delivery is finished by another process hours later, with the stored progress on $name',
  async (database) => {
    const { folder, server } = await place()
    const login = `host: 127.0.0.1, port: ${server.port}, username: mirror, password: "\${SFTP_PASSWORD}", host_key: "${server.hostKey}"`
    const keys = `kind: file, gather: 20ms, per: submission, allow_private: true, entities: [market_events], target: { type: sftp, path: /, ${login} }`
    const rig = await PushRig.start(database, `{ name: agency, ${keys}, schedule: [1h, 1h], timeout: 30s }`, { SFTP_PASSWORD: PASSWORD })
    const submissions = [1, 2, 3].map((n) => uuid(9, n))
    for (const submission of submissions) await rig.track(submission)
    await rig.run()
    const apply = (n: number) => rig.apply(...submissions.map((id, place) => observedEvent(ACCOUNT, id, wireEvent(10 * n + place))))

    server.fault = (heard) => (/rename .*manifest/.test(heard) ? 'cut' : null)
    await apply(1)
    await until('its manifest is not there', async () => {
      const rows = await outboxOf(rig.db)
      return rows.length === 3 && rows.every(({ progress }) => progress !== null)
    })
    for (const name of partsIn(folder)) utimesSync(join(folder, name), HOURS_AGO, HOURS_AGO)
    writeFileSync(join(folder, '.agency~0123456789abcdef.part'), 'of a process that was killed')
    utimesSync(join(folder, '.agency~0123456789abcdef.part'), HOURS_AGO, HOURS_AGO)
    await rig.restart()
    server.fault = () => null
    await letTimePass(rig.db, 7_200_000)
    await apply(2)
    const rows = await rig.becomes(...Array<string>(6).fill('delivered'))
    expectOnce(folder, rows.map(({ seq }) => seq).sort())
    expect((await outboxOf(rig.db)).map(({ progress }) => progress)).toEqual(Array(6).fill(null))
  },
)
