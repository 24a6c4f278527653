import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Config } from '../../../src/config/config.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { backOffDestination, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { recordHeartbeat, removeProcess } from '../../../src/store/upkeep/processes.ts'
import { json, runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv, type Environment } from '../../e2e/serve.ts'
import { type OpenedDatabase, onSqlite } from '../../tools/databases.ts'
import { fanOut, knowDestinations, startTarget, type Target, tryFirst } from './push-rig.ts'

const ACCOUNT = 'default'
const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-push-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Entry {
  readonly outbox_id: number
  readonly message_id: string
  readonly state: string
  readonly destination: string
  readonly submission_id: string
}

describe.each(onSqlite)('commands about pushing, on $name', (database) => {
  let sandbox: Sandbox
  let target: Target
  let opened: OpenedDatabase
  let db: Db
  let env: Environment
  let destinations: Config['destinations']
  let id: string

  beforeEach(async () => {
    sandbox = await startSandbox({ submissions: 0, autoStart: false })
    target = await startTarget()
    opened = await database.open()
    db = opened.db
    const common = `kind: webhook, url: "${target.url}", secret: "\${AMS_SECRET}", allow_private: true, backfill: true, entities: [thread_messages]`
    const file = join(folder, 'mirror.yaml')
    writeFileSync(file, `destinations:\n  - { name: ams, ${common}, on_dead: hold }\n  - { name: mapped, ${common}, mapping: required }\n`)
    env = {
      ...accountEnv(sandbox),
      ...databaseEnv(opened.config),
      CONFIG_FILE: file,
      AMS_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
    }
    destinations = await knowDestinations(db, env)
    id = sandbox.addSubmission(ACCOUNT)
    for (const body_text of ['One.', 'Two.']) sandbox.addMessage(ACCOUNT, id, { body_text })
    expect((await runHere(['track', id], env)).code).toBe(0)
    expect((await runHere(['sync', id], env)).code).toBe(0)
    await fanOut(db, destinations)
  })
  afterEach(async () => {
    await sandbox.close()
    await target.close()
    await opened.close()
  })

  const listed = async (...args: string[]) => json<{ items: Entry[] }>(await runHere(['outbox', 'list', '--json', ...args], env)).items
  const states = async (...args: string[]) => (await listed(...args)).map(({ state }) => state)

  it('outbox list and show print every queued change, and filter', async () => {
    const all = await listed()
    expect(all.map(({ destination, state }) => [destination, state]).sort()).toEqual([
      ['ams', 'waiting'],
      ['ams', 'waiting'],
      ['mapped', 'waiting'],
      ['mapped', 'waiting'],
    ])
    expect(await listed('--destination', 'ams', '--submission', id, '--since', '1h', '--state', 'ready')).toHaveLength(2)
    expect(await listed('--limit', '1')).toHaveLength(1)
    for (const none of [
      ['--until', '1h'],
      ['--state', 'dead'],
    ])
      expect(await listed(...none)).toEqual([])
    const [first] = all
    const shown = await runHere(['outbox', 'show', String(first?.message_id)], env)
    expect(shown.out.match(new RegExp(`^message_id +${first?.message_id}$`, 'gm'))).toHaveLength(2)
    expect((await runHere(['outbox', 'show', String(first?.outbox_id)], env)).out).toContain(`submission_id      ${id}`)
    expect((await runHere(['outbox', 'list'], env)).out).toMatch(/^outbox id +destination +account +submission +change +seq +state/m)
    expect(await runHere(['outbox', 'show', 'nothing'], env)).toEqual({
      code: 2,
      out: '',
      err: 'the outbox has no change nothing\n',
    })
  })

  it('outbox retry and skip settle dead changes, and release the changes behind them', async () => {
    await tryFirst(db, 'ams', { state: 'dead' }, { type: 'blocked', as: 'held' })
    expect(await states('--destination', 'ams')).toEqual(['held', 'dead'])
    expect(await states('--state', 'held')).toEqual(['held'])
    const [dead] = await listed('--state', 'dead')
    expect((await runHere(['outbox', 'retry', String(dead?.outbox_id)], env)).out).toBe('1 change will be retried\n')
    expect(await states('--destination', 'ams')).toEqual(['waiting', 'waiting'])
    await tryFirst(db, 'ams', { state: 'unknown' }, { type: 'blocked', as: 'held' })
    expect((await runHere(['outbox', 'skip', '--destination', 'ams'], env)).out).toBe('1 change will be skipped\n')
    const left = await states('--destination', 'ams')
    expect(left).toEqual(['waiting', 'skipped'])
    expect((await runHere(['outbox', 'skip', '--destination', 'ams', '--state', 'ready'], env)).out).toBe('1 change will be skipped\n')
    const again = ['outbox', 'retry', '--state', 'skipped', '--submission', id]
    expect((await runHere(again, env)).out).toBe('2 changes will be retried\n')
  })

  it.each(['skip', 'retry'])('outbox %s works for one destination even if the settings of another are invalid', async (deed) => {
    const other = `{ name: other, kind: http, accounts: [${ACCOUNT}], request: { url: "'https://other.example" } }`
    const file = join(folder, 'other.yaml')
    writeFileSync(file, `${readFileSync(join(folder, 'mirror.yaml'), 'utf8')}  - ${other}\n`)
    const settings = { ...env, CONFIG_FILE: file }
    const done = await runHere(['outbox', deed, '--destination', 'ams', '--state', deed === 'skip' ? 'ready' : 'dead'], settings)
    expect(done).toMatchObject({ code: 0, err: '' })
  })

  it('outbox retry has what may have arrived looked for, where the settings say how', async () => {
    const request = `request: { method: POST, url: '"${target.url}"', body: '{ "id": message_id }' }`
    const common = `kind: http, allow_private: true, entities: [thread_messages], ${request}`
    const lookup = `lookup: { method: GET, url: '"${target.url}"', found: body.id }`
    const file = join(folder, 'looking.yaml')
    writeFileSync(file, `destinations:\n  - { name: ams, ${common}, ${lookup} }\n  - { name: mapped, ${common} }\n`)
    const looking = { ...env, CONFIG_FILE: file }
    for (const name of ['ams', 'mapped']) await tryFirst(db, name, { state: 'unknown', uncertain: true })
    expect((await runHere(['outbox', 'retry', '--state', 'unknown'], looking)).out).toBe('2 changes will be retried\n')
    const marks = await db.read.sql.selectFrom('sync_outbox').select(['destination', 'uncertain']).orderBy('outbox_id').execute()
    expect(marks.filter(({ uncertain }) => uncertain === 1)).toEqual([{ destination: 'ams', uncertain: 1 }])
  })

  it('outbox retry and skip ask which destination is meant, where a message is on its way to several', async () => {
    for (const name of ['ams', 'mapped']) await tryFirst(db, name, { state: 'unknown' })
    const [to, other] = (await listed('--state', 'unknown')).sort((a, b) => a.destination.localeCompare(b.destination))
    const uuid = String(to?.message_id)
    expect(other?.message_id).toBe(uuid)
    for (const action of ['retry', 'skip']) {
      expect(await runHere(['outbox', action, uuid], env)).toEqual({
        code: 2,
        out: '',
        err:
          `message ${uuid} goes to ams (outbox id ${to?.outbox_id}), mapped (outbox id ${other?.outbox_id}). ` +
          'Name one with --destination, or give its outbox id\n',
      })
    }
    expect(await states('--state', 'unknown')).toHaveLength(2)
    expect((await runHere(['outbox', 'retry', uuid, '--destination', 'ams'], env)).out).toBe('1 change will be retried\n')
    expect((await runHere(['outbox', 'skip', String(other?.outbox_id)], env)).out).toBe('1 change will be skipped\n')
    expect([await states('--destination', 'ams'), await states('--destination', 'mapped')]).toEqual([
      ['waiting', 'waiting'],
      ['waiting', 'skipped'],
    ])
  })

  it('outbox retry and skip reject changes in other states', async () => {
    const problems = async (...args: string[]) => {
      const ended = await runHere(['outbox', ...args], env)
      expect(ended).toMatchObject({ code: 2, out: '' })
      return ended.err
    }
    expect(await problems('retry')).toMatch(/^outbox retry: give ids, or select changes by destination, /)
    expect(await problems('skip', '1', '--state', 'dead')).toMatch(/^outbox skip: use ids only with destination/)
    expect(await problems('retry', '--state', 'ready')).toMatch(/^--state: "ready" is not one of dead, unknown, skipped\n$/)
    const [waiting] = await listed('--destination', 'ams')
    expect(await problems('retry', String(waiting?.outbox_id))).toBe(
      `${waiting?.outbox_id} is waiting; retry applies to dead, unknown, skipped. It is sent automatically; ` +
        'to retry now, run `submission-mirror destination resume ams`\n',
    )
    expect(await problems('skip', '999', 'abc')).toBe('the outbox has no change 999\nthe outbox has no change abc\n')
  })

  it('destination list, pause and resume, and what status says of them', async () => {
    expect((await runHere(['destination', 'pause', 'ams', '--reason', 'the AMS moves'], env)).code).toBe(0)
    const [ams, mapped] = json<{ items: Record<string, unknown>[] }>(await runHere(['destination', 'list', '--json'], env)).items
    expect(ams).toMatchObject({ destination: 'ams', kind: 'webhook', state: 'paused', reason: 'the AMS moves', queued: 2, dead: 0 })
    expect(mapped).toMatchObject({ destination: 'mapped', state: 'active', reason: null })
    expect((await runHere(['destination', 'list'], env)).out).toMatch(/^ams +webhook +paused .*the AMS moves$/m)
    const status = (await runHere(['status'], env)).out
    expect(status).toMatch(/^ams +paused +2 /m)
    expect(status).toMatch(
      /^• destination ams is paused: the AMS moves \(began \d+ s ago\)\n {4}submission-mirror destination resume ams$/m,
    )
    expect((await runHere(['destination', 'resume', 'ams'], env)).out).toBe('Destination ams is active; it was paused (the AMS moves).\n')
    expect((await runHere(['status'], env)).out).not.toMatch(/warning|Needs attention/)
    const nowhere = await runHere(['destination', 'pause', 'asm'], env)
    expect(nowhere).toMatchObject({ code: 2, out: '' })
    expect(nowhere.err).toMatch(/^unknown destination "asm" \(.*\); did you mean ams\?$/m)
  })

  it('destination list shows the end of a pause while it lasts', async () => {
    const rests = async () => {
      const { items } = json<{ items: { destination: string; retry_at: string | null }[] }>(
        await runHere(['destination', 'list', '--json'], env),
      )
      return items.map(({ destination, retry_at }) => [destination, retry_at])
    }
    const until = await backOffDestination(db, 'ams', 60_000, 0)
    await backOffDestination(db, 'mapped', -1_000, 0)
    expect(await rests()).toEqual([
      ['ams', until],
      ['mapped', null],
    ])
  })

  it('destination pause keeps the reason that was given, and ends a suspension', async () => {
    const pause = async (...more: string[]) => await runHere(['destination', 'pause', 'ams', ...more], env)
    const now = async () => json<{ items: object[] }>(await runHere(['destination', 'list', '--json'], env)).items[0]
    await pause('--reason', 'the AMS moves')
    expect(await pause()).toMatchObject({
      code: 0,
      out: 'Destination ams is paused already (the AMS moves). Changes are queued but not sent until you run `destination resume ams`.\n',
    })
    expect(await now()).toMatchObject({ state: 'paused', reason: 'the AMS moves' })
    await pause('--reason', 'it moves again')
    expect(await now()).toMatchObject({ state: 'paused', reason: 'it moves again' })
    await setDestinationState(db, 'ams', 'suspended', 'answered 401')
    expect(await pause('--reason', 'the AMS moves')).toMatchObject({ code: 0 })
    expect(await now()).toMatchObject({ state: 'paused', reason: 'the AMS moves' })
  })

  it('status lists waiting changes of a removed destination, until they are skipped', async () => {
    const file = env['CONFIG_FILE'] ?? ''
    writeFileSync(
      file,
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => !line.includes('name: mapped'))
        .join('\n'),
    )
    const warnings = async () => (await runHere(['status'], env)).out.split('\n').filter((line) => line.startsWith('warning: destination'))
    const [warning, ...others] = await warnings()
    expect(others).toEqual([])
    expect(warning).toMatch(
      /destination mapped is not in these settings, but has 2 queued changes\. If `serve` uses another CONFIG_FILE, use that file\./,
    )
    const [, command = ''] = /`submission-mirror (.+)`/.exec(warning ?? '') ?? []
    expect((await runHere(command.split(' '), env)).out.match(/ mapped .* waiting /g)).toHaveLength(2)
    const skip = ['outbox', 'skip', '--destination', 'mapped', '--state', 'ready']
    expect(await runHere(skip, env)).toEqual({ code: 0, out: '2 changes will be skipped\n', err: '' })
    expect(await warnings()).toEqual([])
    expect(await states('--destination', 'ams')).toEqual(['waiting', 'waiting'])
  })

  it('destination map releases changes that waited for a client', async () => {
    await tryFirst(db, 'mapped', null, { type: 'blocked', as: 'unmapped' })
    expect(await states('--destination', 'mapped')).toEqual(['unmapped', 'unmapped'])
    expect(await states('--state', 'unmapped')).toEqual(['unmapped', 'unmapped'])
    expect(await states('--state', 'waiting')).toEqual(['waiting', 'waiting'])
    expect((await runHere(['status'], env)).out).toContain('1 submission needs an AMS client (destination mapped)')
    const fields = ['--field', 'branch=north', '--field', 'desk=2']
    const ended = await runHere(['destination', 'map', 'mapped', '--submission', id, '--client', 'C-1', ...fields], env)
    expect(ended).toEqual({ code: 0, out: '1 submission mapped. Its changes no longer wait for a client.\n', err: '' })
    expect(await states('--destination', 'mapped')).toEqual(['waiting', 'waiting'])
    const list = json<{ items: object[] }>(await runHere(['destination', 'mappings', 'mapped', '--json'], env))
    expect(list.items).toMatchObject([
      { account: ACCOUNT, submission_id: id, client: 'C-1', policy: null, fields: { branch: 'north', desk: '2' }, mapped_via: 'command' },
    ])
    const file = join(folder, 'map.csv')
    const other = 'bbbbbbbb-0000-4000-8000-000000000001'
    writeFileSync(file, `submission_id,client,policy\n${id},C-2,P-2\n${other},C-3,\n`)
    expect((await runHere(['destination', 'map', 'mapped', '--file', file], env)).out).toBe(
      '2 submissions mapped. Their changes no longer wait for a client.\n1 mapped submission is not mirrored yet.\n',
    )
    expect((await runHere(['destination', 'mappings', 'mapped', '--submission', id], env)).out).toMatch(/C-2 +P-2/)
  })

  it('destination map refuses a file that is wrong in one line, whole', async () => {
    const file = join(folder, 'wrong.csv')
    writeFileSync(file, `submission_id,client\n${id},C-1\nx,C-2\n`)
    expect(await runHere(['destination', 'map', 'mapped', '--file', file], env)).toEqual({
      code: 2,
      out: '',
      err: '--file, line 3: "x" is not a submission id (a uuid)\nnothing was stored\n',
    })
    expect(json(await runHere(['destination', 'mappings', 'mapped', '--json'], env))).toEqual({ items: [], next_cursor: null })
    expect((await runHere(['destination', 'map', 'ams', '--file', file], env)).err).toMatch(/^destination ams uses no mapping/)
    const problems = async (...args: string[]) => (await runHere(['destination', 'map', 'mapped', ...args], env)).err
    expect(await problems('--file', file, '--client', 'x')).toBe('destination map: give only a file or rows, without other fields\n')
    for (const less of [[], ['--client', 'x'], ['--submission', id]])
      expect(await problems(...less)).toBe(
        'destination map: give a file, or a submission and its client; `destination mappings` lists the stored mappings\n',
      )
    expect(await problems('--file', join(folder, 'no.csv'))).toMatch(/^--file: \S+no\.csv cannot be read: ENOENT.*\n$/)
  })

  it('destination test makes one harmless attempt and prints the result', async () => {
    const ended = await runHere(['destination', 'test', 'ams'], env)
    expect(ended).toMatchObject({ code: 0, err: '' })
    expect(ended.out).toMatch(/^Destination ams: accepted a signed message/)
    target.status = 401
    expect(await runHere(['destination', 'test', 'ams'], env)).toMatchObject({ code: 1, out: expect.stringMatching(/answered 401/) })
    expect(await states('--destination', 'ams')).toEqual(['waiting', 'waiting'])
    expect((await runHere(['destination', 'test', 'asm'], env)).code).toBe(2)
  })

  it('doctor explains one destination: the attempt, its state, waiting changes, and what to do', async () => {
    const doctor = async () => await runHere(['doctor', '--destination', 'ams'], env)
    const waits = await doctor()
    expect(waits.code).toBe(1)
    expect(waits.out).toMatch(/^✓ destination ams: accepted a signed message/m)
    expect(waits.out).toMatch(/^✗ destination ams: changes are waiting, but no `serve` is running; start it$/m)
    await recordHeartbeat(db, { id: 'p', role: 'work', version: '1' })
    await backOffDestination(db, 'ams', 60_000, 1)
    expect(await doctor()).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^✓ destination ams: active, .*; throttled until/m),
    })
    await backOffDestination(db, 'ams', 60_000, 5)
    expect(await doctor()).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^✗ destination ams: does not answer, so its changes wait: 5 attempts in a row failed/m),
    })
    await setDestinationState(db, 'ams', 'active', null)
    await removeProcess(db, 'p')
    await runHere(['outbox', 'skip', '--destination', 'ams', '--state', 'ready'], env)
    expect(await doctor()).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^✓ destination ams: active, nothing is queued$/m),
    })
    await setDestinationState(db, 'ams', 'suspended', 'answered 410')
    const fixed = await doctor()
    expect(fixed.out).toMatch(/^✓ destination ams: accepted a signed message/m)
    expect(fixed.out).toMatch(
      /^✗ destination ams: is still suspended because of an earlier answer \(answered 410\); to retry now, run `submission-mirror destination resume ams`$/m,
    )
    expect(fixed.out).not.toContain('fix the reason')
    target.status = 410
    const gone = await doctor()
    expect(gone.code).toBe(1)
    expect(gone.out).toMatch(/^✗ destination ams: answered 410/m)
    expect(gone.out).toMatch(
      /^✗ destination ams: is suspended: answered 410; sending stops until you resume it; fix the reason, then `submission-mirror destination resume ams`$/m,
    )
    await target.close()
    expect((await doctor()).out).toMatch(/^✗ destination ams: cannot be reached/m)
  })

  it('doctor without a destination looks at everything, and exits with 1 when something is wrong', async () => {
    await runHere(['outbox', 'skip', '--account', ACCOUNT, '--state', 'ready'], env)
    const well = await runHere(['doctor'], env)
    const unsafe =
      database.name === 'postgres'
        ? [expect.stringMatching(/^✗ database: acknowledged deliveries can be lost in a power cut: .*fsync off/)]
        : []
    expect(well).toMatchObject({ code: unsafe.length, err: '' })
    expect(well.out.split('\n').filter((line) => line.startsWith('✗'))).toEqual(unsafe)
    expect(well.out).toMatch(/^✓ settings: 1 account and 2 destinations$/m)
    expect(well.out).toMatch(/^✓ database: (?:sqlite|postgres), tables up to date, \d+ changes logged, no `serve` is running$/m)
    expect(well.out).toMatch(/^✓ account default: the service accepts its credentials, brokerage .*, scope broker_mcp$/m)
    expect(well.out).toMatch(/^✓ destination mapped: accepted a signed message/m)
    expect(well.out).toMatch(/^– receiver: not checked: whether deliveries arrive; set PUBLIC_URL/m)
    expect(well.out).toMatch(/^– retention: not checked: it has not run yet/m)
    expect(well.out).toMatch(new RegExp(`\\n\\d+ checks, ${unsafe.length} failed, \\d+ not checked\\n$`))
    const wrong = await runHere(['doctor', '--json'], { ...env, BROKER_API_CLIENT_SECRET: 'bas_of-nobody' })
    expect(wrong.code).toBe(1)
    const { items: findings } = json<{ items: { about: string; ok: boolean | null; fails: boolean; text: string }[] }>(wrong)
    expect(findings.filter(({ fails, about }) => fails && about !== 'database')).toEqual([
      {
        about: 'account default',
        ok: false,
        fails: true,
        text: expect.stringMatching(/compare id, secret, scope and base URL with the portal$/),
      },
    ])
  })
})
