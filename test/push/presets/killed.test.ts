import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { presetFiles } from '../../../src/config/sources/presets.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { withFile } from '../../config/support.ts'
import { accountEnv, databaseEnv, startServe } from '../../e2e/serve.ts'
import { letTimePass } from '../../e2e/time.ts'
import { startHook } from '../../emulators/hook.ts'
import { recordRequests, startRecords } from '../../emulators/records.ts'
import type { EmulatorServer, Fault, NotesEmulator } from '../../emulators/server.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import {
  agencyzoom,
  dataverse,
  EPIC_ENV,
  epicWhere,
  ezlynx,
  HAWKSOFT_ENV,
  hubspot,
  nowcerts,
  salesforce,
  startTestEpic,
  startTestHawkSoft,
} from './cases.ts'
import type { NotesCase } from './notes-suite.ts'
import { event, PushRig, SUBMISSION } from './rig.ts'
import { storing } from './storing.ts'

interface Target {
  readonly server: EmulatorServer
  readonly taken: () => readonly string[]
  readonly where: string
  readonly env?: Readonly<Record<string, string>>
}

interface KilledCase {
  readonly preset: string
  readonly env: Readonly<Record<string, string>>
  readonly client: string
  readonly fields?: NotesCase<NotesEmulator>['fields']
  readonly start: () => Promise<Target>
  /** The end of the change in flight: in both cases the target has it once. */
  readonly ends: 'delivered' | 'unknown'
}

const ours = <E extends NotesEmulator>(of: NotesCase<E>): KilledCase => ({
  ...of,
  ends: 'delivered',
  async start() {
    const server = await of.start()
    return { server, taken: () => server.notes.map((note) => JSON.stringify(note)), where: of.where(server) }
  },
})

const appliedEpic: KilledCase = {
  preset: 'applied-epic',
  env: EPIC_ENV,
  client: 'c-1',
  ends: 'delivered',
  async start() {
    const server = await startTestEpic()
    return { server, taken: () => server.activities.map((activity) => JSON.stringify(activity)), where: epicWhere(server) }
  },
}

const hawksoft: KilledCase = {
  preset: 'hawksoft',
  env: HAWKSOFT_ENV,
  client: '4711',
  ends: 'unknown',
  async start() {
    const server = await startTestHawkSoft()
    return { server, taken: () => server.notes.map((note) => JSON.stringify(note)), where: `settings: { base_url: "${server.url}" }` }
  },
}

const hook = (preset: string, variable: string, path: string): KilledCase => ({
  preset,
  env: {},
  client: '4711',
  ends: 'unknown',
  async start() {
    const server = await startHook({ path, mostBytes: 100_000, queued: (run) => ({ status: 200, body: { id: `run-${run}` } }) })
    return { server, taken: () => server.runs.map((run) => JSON.stringify(run)), where: '', env: { [variable]: server.address } }
  },
})

const cases: readonly KilledCase[] = [
  appliedEpic,
  hawksoft,
  ours(nowcerts),
  ours(agencyzoom),
  ours(ezlynx),
  ours(dataverse),
  ours(hubspot),
  ours(salesforce),
  hook('zapier', 'ZAPIER_HOOK_URL', '/hooks/catch/123/secret-of-the-hook/'),
  hook('power-automate', 'POWER_AUTOMATE_URL', '/workflows/abc/invoke?sig=secret-of-the-hook'),
]

/** Buses take a change twice (e2e/buses.test.ts), and batches are killed as a whole (salesforce-batch.test.ts). */
const KILLED_ELSEWHERE = ['azure-service-bus', 'kafka-rest', 'salesforce-batch']

const PASS_MS = 1_200_000

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ submissions: 0 })
})
afterAll(() => sandbox.close())

it('leaves out no preset but those that are killed elsewhere', () => {
  expect([...cases.map(({ preset }) => preset), ...KILLED_ELSEWHERE].sort()).toEqual([...presetFiles().keys()].sort())
})

it.each(cases)('$preset has each change once, though the program is killed while one is on its way', async (of) => {
  const { server, taken, where, env = {} } = await of.start()
  onTestFinished(() => server.close())
  const patient =
    'start: 0, lookup_after: 50ms, timeout: 1m, schedule: [50ms, 50ms, 50ms, 50ms], rps: 100, allow_private: true, allow_hosts: [127.0.0.1]'
  const destination = `{ name: ams, preset: ${of.preset}, ${[patient, where].filter(Boolean).join(', ')} }`
  const settings = { SHUTDOWN_GRACE: '1s', ...of.env, ...env }
  const rig = await PushRig.start(sqliteDatabase, destination, settings)
  if (of.fields !== undefined) rig.fieldsOf = of.fields
  await rig.track(SUBMISSION)
  await rig.map(SUBMISSION, of.client)
  for (let n = 1; n <= 5; n += 1) await rig.apply(event(n))

  server.fail('take', 'take', 'hang')
  const file = withFile(`destinations:\n  - ${destination}\n`, settings) as Readonly<Record<string, string>>
  const served = await startServe({ ...accountEnv(sandbox), ...databaseEnv(rig.database), ...file })
  await until('the third is there, and its answer is not', () => taken().length === 3)
  await served.kill()

  await letTimePass(rig.db, PASS_MS, { leases: true })
  await rig.run()
  const rows = await rig.becomes('delivered', 'delivered', of.ends, 'delivered', 'delivered')
  expect(taken()).toHaveLength(5)
  for (const [n, { message_id: id }] of rows.entries()) expect(taken()[n]).toContain(id)
})

it.each<readonly [string, readonly Fault[], string]>([
  ['record', ['hang'], 'POST GET PUT'],
  ['upload', ['take', 'hang'], 'POST PUT PUT'],
])('a document arrives once, though the program is killed before its %s is answered', async (_, faults, arrives) => {
  const folder = newFolder()
  const ams = await closedAtEnd(startRecords())
  const { request, upload, lookup } = recordRequests
  const requests = `request: ${request}, upload: ${upload}, lookup: ${lookup}, remote_id: body.id, settings: { base_url: "${ams.url}" }`
  const destination = `{ name: ams, kind: http, start: 0, timeout: 1m, schedule: [50ms], allow_private: true, entities: [documents], documents: true, ${requests} }`
  const settings = { SHUTDOWN_GRACE: '1s', DOCUMENTS_DIR: folder }
  const rig = await PushRig.start(sqliteDatabase, destination, settings)
  await rig.track(SUBMISSION)
  await storing(rig, folder, SUBMISSION)(1, '%PDF-1.7')

  ams.fail(...faults)
  const file = withFile(`destinations:\n  - ${destination}\n`, settings) as Readonly<Record<string, string>>
  const served = await startServe({ ...accountEnv(sandbox), ...databaseEnv(rig.database), ...file })
  await until('it waits for the answer', () => ams.arrived.length === faults.length)
  await served.kill()

  await letTimePass(rig.db, PASS_MS, { leases: true })
  await rig.run()
  const [, row] = await rig.becomes('skipped', 'delivered')
  expect(ams.records).toEqual([{ ref: row?.message_id, file: '%PDF-1.7' }])
  expect(ams.methods()).toBe(arrives)
})
