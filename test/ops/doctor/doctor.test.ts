import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { migrations } from '../../../migrations/index.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { findDeliveries, listDeliveries } from '../../../src/store/inbox/queries.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { acquireServeLock } from '../../../src/store/open/serve-lock.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { savePause } from '../../../src/store/reads/pauses.ts'
import { listProcesses } from '../../../src/store/upkeep/processes.ts'
import { SELF_DELIVERY_TYPE } from '../../../src/upstream/webhook/delivery.ts'
import { json, runHere } from '../../app/run.ts'
import { waitFor } from '../../e2e/agreement.ts'
import { accountEnv, databaseEnv, type Environment, startServe } from '../../e2e/serve.ts'
import { newSqlite, onSqlite, openAgain, runSql } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { trackFact, uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

interface Finding {
  readonly about: string
  readonly ok: boolean | null
  readonly fails: boolean
  readonly text: string
}

let sandbox: Sandbox

beforeEach(async () => {
  sandbox = await startSandbox({ submissions: 0, autoStart: false })
  return () => sandbox.close()
})

async function findings(env: Environment): Promise<{ code: number | null; all: Finding[]; wrong: string[]; unchecked: string[] }> {
  const ended = await runHere(['doctor', '--json'], env)
  expect(ended.err).toBe('')
  const all = json<{ items: Finding[] }>(ended).items.filter(
    // A `serve` of the tests has its own ports.
    ({ text }) => !/^acknowledged deliveries can be lost in a power cut: .*fsync off|runs with other settings than/.test(text),
  )
  const textsWith = (wanted: false | null) => all.filter(({ ok }) => ok === wanted).map(({ about, text }) => `${about}: ${text}`)
  return { code: ended.code, all, wrong: textsWith(false), unchecked: textsWith(null) }
}

const textsOf = (found: { all: readonly Finding[] }, about: string) =>
  found.all.filter((each) => each.about === about).map(({ text }) => text)

async function startFront(status: number, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((request, response) => void request.resume().on('end', () => response.writeHead(status, headers).end()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startProxy(to: string, { forwardedFor, longest = Infinity }: { forwardedFor?: string; longest?: number }): Promise<string> {
  const server = createServer((request, response) => {
    const { host: _, ...headers } = request.headers
    if (Number(headers['content-length']) > longest) return void request.resume().on('end', () => response.writeHead(413).end())
    const named = forwardedFor === undefined ? headers : { ...headers, 'x-forwarded-for': forwardedFor }
    const passed = httpRequest(new URL(request.url ?? '/', to), { method: request.method, headers: named }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed.on('error', () => response.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startService(scope: unknown): Promise<string> {
  const me = { kind: 'api_client', client_id: 'bac_1', brokerage: { id: 'b-1' }, scope }
  const server = createServer((request, response) => {
    const body = request.url?.endsWith('/oauth/token') ? { access_token: 'token' } : me
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.each(onSqlite)('doctor on $name', ({ name, open }) => {
  async function opened(): Promise<{ env: Environment; db: Awaited<ReturnType<typeof open>>['db'] }> {
    const { db, config } = await closedAtEnd(open())
    return { db, env: { ...databaseEnv(config), ...accountEnv(sandbox) } }
  }

  it('reports everything as right while serve runs, and sends itself a delivery that changes nothing', async () => {
    const { db, env } = await opened()
    const serve = await startServe(env)
    onTestFinished(() => serve.kill())
    expect(await waitFor(async () => (await listProcesses(db.read)).length === 1)).toBe(true)
    const asked = sandbox.activity.requests.length
    const found = await findings({ ...env, PUBLIC_URL: serve.receiver, DOCUMENTS: 'fetch' })
    expect(found.wrong).toEqual([])
    expect(found.all.filter(({ ok, fails }) => ok === null && fails)).toEqual([])
    expect(textsOf(found, 'settings')).toEqual(['1 account and 0 destinations'])
    expect(textsOf(found, 'documents')).toEqual([`the folder ${env['DOCUMENTS_DIR']} can be written to and read from`])
    const texts = textsOf(found, 'database')
    expect(texts[0]).toMatch(/tables up to date, 0 changes logged, 1 `serve` process running$/)
    expect(texts.join('\n')).toMatch(name === 'sqlite' ? /journal_mode wal, synchronous full/ : /LISTEN and NOTIFY work/)
    expect(texts.join('\n')).toMatch(/it uses [\d.]+ [MG]B/)
    expect(textsOf(found, 'account default')).toEqual([
      expect.stringMatching(/^the service answers at http.*, and this machine's clock agrees with the service's clock$/),
      expect.stringMatching(/^the service accepts its credentials, brokerage .*, scope broker_mcp$/),
      'not checked: whether the endpoint signs with the 1 webhook secret: no recent delivery',
    ])
    expect(textsOf(found, 'receiver for account default')).toEqual([
      expect.stringMatching(/^a signed delivery to http.*\/webhooks arrived and is stored$/),
      'a signed delivery of nearly 4 MiB (the limit) arrived too',
    ])
    const [own] = await listDeliveries(db.read, {}, 1)
    const done = await waitFor(async () => (await listDeliveries(db.read, { state: 'done' }, 2)).length === 2)
    expect(done).toBe(true)
    expect((await findDeliveries(db.read, own?.delivery_id ?? ''))[0]).toMatchObject({ kind: SELF_DELIVERY_TYPE, error: null })
    expect(await db.read.sql.selectFrom('sync_inbox').select('body').execute()).toEqual([{ body: null }, { body: null }])
    expect(await db.read.sql.selectFrom('sync_accounts').select(['sweep_wanted', 'swept_at']).execute()).toEqual([
      { sweep_wanted: 0, swept_at: null },
    ])
    const reads = sandbox.activity.requests.slice(asked).filter(({ operation }) => operation !== 'token' && operation !== 'me')
    expect(reads).toEqual([])
  })

  it('says what hinders documents from being kept', async () => {
    const { env } = await opened()
    const { code, wrong } = await findings({ ...env, DOCUMENTS: 'fetch', DOCUMENTS_DIR: import.meta.filename })
    expect(code).toBe(1)
    expect(wrong).toEqual([`documents: ${import.meta.filename} is not a folder: name a folder in DOCUMENTS_DIR`])
  })

  it('says whether backups by the timetable can be written where they belong', async () => {
    const { env } = await opened()
    const folder = dirname(env['DATABASE_URL']?.slice('sqlite:'.length) ?? '')
    const missing = join(folder, 'backups', 'nightly')
    const scheduled = { ...env, BACKUP_CRON: '0 2 * * *' }
    const right = await findings({ ...scheduled, BACKUP_DIR: missing })
    expect(textsOf(right, 'backups')).toEqual([`${missing} can be written to`])
    expect(existsSync(join(folder, 'backups'))).toBe(false)
    mkdirSync(missing, { recursive: true })
    writeFileSync(join(missing, 'mirror-20260615T020000Z.db'), 'a copy of some mirror')
    expect((await findings({ ...scheduled, BACKUP_DIR: missing })).wrong).toEqual([
      expect.stringMatching(/^backups: .*nightly contains backups but no mirror-of-backups\.txt with their mirror: check DATABASE_URL, /),
    ])
    const { code, wrong } = await findings({ ...scheduled, BACKUP_DIR: import.meta.filename })
    expect(code).toBe(1)
    expect(wrong).toEqual([
      expect.stringMatching(/^backups: .*doctor\.test\.ts cannot be written to \(ENOTDIR.*set BACKUP_DIR to another folder$/),
    ])
    expect(textsOf(await findings(env), 'backups')).toEqual([])
  })

  it('says of each wrong address for deliveries what to do', async () => {
    const { env } = await opened()
    const verdict = async (url: string) => (await findings({ ...env, PUBLIC_URL: url })).wrong
    for (const [status, says] of [
      [204, /is not in this database; the address belongs to another installation$/],
      [301, /was answered 301: senders do not follow redirects/],
      [401, /was answered 401: the receiver rejects the signature/],
      [404, /forward POST \/webhooks and \/webhooks\/\* unchanged$/],
      [413, /limits bodies/],
      [502, /does not reach the receiver/],
      [503, /GET \/readyz/],
      [418, /not an answer of the receiver/],
    ] as const) {
      expect(await verdict(await startFront(status, { location: 'http://127.0.0.1:1/' }))).toEqual([expect.stringMatching(says)])
    }
    expect(await verdict('http://127.0.0.1:1')).toEqual([expect.stringMatching(/cannot be reached from here \(ECONNREFUSED\)/)])
  })

  it('says whether a proxy lets long deliveries through, and is believed when it names the sender', async () => {
    const { env } = await opened()
    const resultOf = async (trusted: Environment, front: Parameters<typeof startProxy>[1]) => {
      const serve = await startServe({ ...env, ...trusted })
      const found = await findings({ ...env, ...trusted, PUBLIC_URL: await startProxy(serve.receiver, front) })
      await serve.stop()
      return {
        wrong: found.wrong.map((text) => text.replace('receiver for account default: ', '')),
        texts: textsOf(found, 'receiver for account default'),
      }
    }
    const { wrong, texts } = await resultOf({ TRUST_PROXY: 'loopback' }, { forwardedFor: '203.0.113.9' })
    expect(wrong).toEqual([])
    expect(texts).toContain('the proxy at 127.0.0.1 is trusted to forward sender addresses')
    expect((await resultOf({}, { forwardedFor: '203.0.113.9' })).wrong).toEqual([
      'a proxy at 127.0.0.1 forwards sender addresses, but is not trusted, so all senders share one limit; set TRUST_PROXY=127.0.0.1',
    ])
    expect((await resultOf({ TRUST_PROXY: 'loopback' }, { forwardedFor: '127.0.0.1' })).wrong).toEqual([])
    expect((await resultOf({ TRUST_PROXY: '10.0.0.7' }, { forwardedFor: '203.0.113.9' })).wrong).toEqual([
      'deliveries come from 127.0.0.1, which is not in TRUST_PROXY, so all senders share one limit; set TRUST_PROXY=127.0.0.1',
    ])
    expect((await resultOf({ TRUST_PROXY: 'loopback' }, { longest: 1 << 20 })).wrong).toEqual([
      expect.stringMatching(/^TRUST_PROXY is set, but a delivery from 127\.0\.0\.1 had no X-Forwarded-For; configure the proxy/),
      expect.stringMatching(/^a signed delivery of nearly 4 MiB.* was answered 413, although a short one arrived; configure the proxy/),
    ])
  })

  it('reports problems of credentials, scopes, brokerage and clock', async () => {
    const { db, env } = await opened()
    const wrong = async (over: Environment = {}) => (await findings({ ...env, ...over })).wrong
    expect(await wrong({ BROKER_API_CLIENT_SECRET: 'bas_wrong' })).toEqual([
      expect.stringMatching(/^account default: its credentials: .*; compare id, secret, scope and base URL with the portal$/),
    ])
    const late = await startFront(401, { date: new Date(Date.now() - 400_000).toUTCString() })
    expect(await wrong({ BROKER_API_BASE_URL: `${late}/api/v1` })).toEqual([
      expect.stringMatching(/^account default: the clock of this machine is \d+ s ahead of .* every delivery is rejected; set it by NTP$/),
      expect.stringMatching(/compare id, secret, scope and base URL with the portal$/),
    ])
    await runSql(
      db,
      sql`insert into sync_accounts (account, state, reason, brokerage, sweep_wanted) values ('default', 'suspended', 'refused', 'another', 0)`,
    )
    expect(await wrong()).toEqual([
      expect.stringMatching(
        /belong to brokerage .*, but this account holds the data of another; configure another account for that brokerage$/,
      ),
      'account default: is suspended: refused; deliveries are still stored, but the account is not read; fix the reason, then `submission-mirror account resume default`',
    ])
  })

  it('does not report accepted credentials as rejected if the account is still suspended for earlier ones', async () => {
    const { db, env } = await opened()
    await runSql(
      db,
      sql`insert into sync_accounts (account, state, reason, sweep_wanted)
        values ('default', 'suspended', 'the service rejects the credentials (it answered 401)', 0)`,
    )
    expect((await findings(env)).wrong).toEqual([
      'account default: is still suspended: its credentials were rejected earlier, but are accepted now; to retry now, run `submission-mirror account resume default`',
    ])
  })

  it('sends nothing in a pause that the service requested, and names the route that does not identify the credentials', async () => {
    const { db, env } = await opened()
    await ensureAccounts(db, ['default'])
    sandbox.faults.add({ kind: 'status', status: 404, operation: 'me' })
    onTestFinished(() => sandbox.faults.set([]))
    expect((await findings(env)).wrong).toEqual([
      expect.stringMatching(/GET \/broker\/me: the service answered 404.*; the token was granted, so reads continue; check the base URL/),
    ])
    await savePause(db, 'default', { ms: 3_600_000, reason: '429 with Retry-After to GET …/events' })
    const asked = sandbox.activity.requests.length
    const { wrong, unchecked } = await findings(env)
    const pause = String.raw`the service asked for a pause until \d{4}-.*Z \(429 with Retry-After to GET …/events\)`
    const waits = String.raw`waits until \d{4}-.*Z: 429 with Retry-After to GET …/events; the account is not read until then; see docker/warnings-service\.md#`
    expect(wrong).toEqual([expect.stringMatching(`^account default: ${waits}`)])
    expect(unchecked).toContainEqual(expect.stringMatching(`^account default: not checked: service and credentials: ${pause}$`))
    expect(sandbox.activity.requests).toHaveLength(asked)
  })

  it('checks the scopes of a key, if the service shows them', async () => {
    const { env } = await opened()
    const verdict = async (scope: unknown) =>
      textsOf(await findings({ ...env, BROKER_API_BASE_URL: `${await startService(scope)}/api/v1` }), 'account default')
        .slice(1, 3)
        .join('\n')
    expect(await verdict('broker_submit broker_mcp')).toMatch(
      /scope broker_submit broker_mcp, which also allows writing; a read-only key is enough\n/,
    )
    expect(await verdict(['something'])).toMatch(
      /have the scope something, but reading needs broker_mcp; create a key with that scope in the portal\n/,
    )
    expect(await verdict(undefined)).toMatch(/brokerage b-1\nnot checked: the scope of its credentials: the service does not show it$/)
  })

  it('reports damaged numbers of the change log', async () => {
    const { db, env } = await opened()
    await db.write('test', (tx) => tx.run(sql`update mirror_info set last_seq = -3`))
    expect((await findings(env)).wrong).toEqual([
      expect.stringMatching(
        /^database: mirror_info.last_seq was set to -3, and the newest change is 0; `submission-mirror reconcile` or the next start/,
      ),
    ])
  })

  it('names what is missing from the tables', async () => {
    const { db, env } = await opened()
    const cascade = name === 'sqlite' ? '' : ' cascade'
    for (const statement of ['alter table push_map drop column policy', `drop table quotes${cascade}`, 'delete from mirror_info']) {
      await runSql(db, sql.raw(statement))
    }
    const found = await findings(env)
    expect(found.code).toBe(1)
    expect(found.wrong).toEqual([
      expect.stringMatching(/^database: it lacks the table quotes,(?=.* the column push_map\.policy\b).* \(.*\); restore a backup/),
      expect.stringMatching(/^database: the row of mirror_info was deleted; .*start of `serve` creates it again/),
    ])
    const migrated = await runHere(['migrate'], env)
    expect(migrated).toMatchObject({ code: 1, err: expect.stringMatching(/it lacks the table quotes,/) })
    expect(migrated.out).not.toContain('nothing to migrate')
  })

  it('counts failed checks as not checked', async () => {
    const { db, env } = await opened()
    await runSql(db, sql`alter table sync_inbox rename to mislaid`)
    const found = await findings(env)
    expect(found.code).toBe(1)
    expect(found.all.filter(({ about }) => about === 'clocks')).toEqual([
      { about: 'clocks', ok: null, fails: true, text: expect.stringMatching(/^not checked: .*sync_inbox/) },
    ])
  })

  it('reports that the clocks disagree, unless a record from the future explains it', async () => {
    const { db, env } = await opened()
    const later = timeFromMs(Date.now() + 3 * 3_600_000)
    await applyAll(db, [trackFact('default', uuid(9, 1))])
    await db.write('test', (tx) => tx.run(sql`update changes set changed_at = ${timeValue(tx, later)}`))
    expect((await findings(env)).wrong).toEqual([])
    await sandbox.close()
    expect((await findings(env)).wrong).toContainEqual(
      expect.stringMatching(/^clocks: the clocks disagree: the clock of this machine is 3 h behind the newest change; until they agree/),
    )
  })

  it('looks at the rest when the service is down', async () => {
    const { env } = await opened()
    await sandbox.close()
    const found = await findings(env)
    expect(found.code).toBe(1)
    expect(found.wrong).toEqual([
      expect.stringMatching(/^account default: the service does not answer at http.* \(.*ECONNREFUSED.*\); check the address, proxy/),
    ])
    expect(found.all.map(({ about }) => about)).toContain('receiver')
    expect(found.unchecked).toContain('account default: not checked: its credentials: the service does not answer')
  })

  const itOnPostgres = name === 'postgres' ? it : () => undefined
  itOnPostgres('finds out that processes do not hear each other', async () => {
    const { env } = await opened()
    const wrong = async (change: (url: URL) => void) => {
      const url = new URL(env['DATABASE_URL'] ?? '')
      change(url)
      return (await findings({ ...env, DATABASE_LISTEN_URL: url.href })).wrong
    }
    const fix = /\. Set DATABASE_LISTEN_URL to the server itself/
    const away = await wrong((url) => {
      url.port = '1'
    })
    expect(away).toEqual([expect.stringMatching(/^database: a connection for LISTEN could not be opened/)])
    expect(away[0]).toMatch(fix)
    // Another database of the same server gets no notifications, as behind a pooler that drops them.
    const deaf = await wrong((url) => {
      url.pathname = '/template1'
    })
    expect(deaf).toEqual([expect.stringMatching(/^database: notifications do not arrive/)])
  })

  it('names the migrations that are missing, and looks at the rest', async () => {
    const { db, config } = await closedAtEnd(open({ migrated: false }))
    await migrate(db, migrations.slice(0, 2))
    const found = await findings({ ...databaseEnv(config), ...accountEnv(sandbox) })
    expect(found.wrong).toEqual([
      expect.stringMatching(/^database: The database lacks migration 3 \(inbox\), .*; run `submission-mirror migrate`/),
    ])
    expect(textsOf(found, 'account default')[1]).toMatch(/^the service accepts its credentials/)
  })
})

it('doctor checks the rest when there is no database, or it cannot be reached or opened', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  for (const [url, says] of [
    [`sqlite:${config.path}`, /^database: there is no database at .*create it with `submission-mirror serve`$/],
    ['postgres://nobody:secret@127.0.0.1:1/none', /^database: Postgres cannot be reached \([^)]*\); check that it runs, and [^;]*$/],
    ['sqlite:/proc/none/mirror.db', /^database: there is no database/],
  ] as const) {
    const found = await findings({ DATABASE_URL: url, ...accountEnv(sandbox) })
    expect([found.code, found.wrong]).toEqual([1, [expect.stringMatching(says)]])
    expect(textsOf(found, 'account default')[1]).toMatch(/^the service accepts its credentials/)
    for (const about of ['retention', 'clocks', 'account default']) {
      expect(found.all).toContainEqual({
        about,
        ok: null,
        fails: true,
        text: expect.stringMatching(/^not checked: .*the database cannot be used$/),
      })
    }
    expect(JSON.stringify(found)).not.toContain('secret@')
  }
})

it('doctor reports that retention does not finish while serve runs', async () => {
  const { config, remove } = newSqlite()
  const db = await openAgain(config)
  onTestFinished(async () => {
    await db.close()
    await remove()
  })
  await migrate(db)
  const env = { ...databaseEnv(config), ...accountEnv(sandbox) }
  expect(textsOf(await findings(env), 'retention')).toEqual(['not checked: it has not run yet; `serve` runs it every night'])
  const at = (daysAgo: number) => `${new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, -1)}000Z`
  await db.write('test', async (tx) => {
    await tx.run(
      sql`insert into sync_upkeep (task, position, began_at, ended_at, note) values ('retention', 0, ${at(3)}, ${at(3)}, 'removed nothing')`,
    )
  })
  expect(textsOf(await findings(env), 'retention')).toEqual(['the last run finished 3 d ago and removed nothing'])
  await runSql(
    db,
    sql`insert into sync_processes (process_id, role, version, started_at, seen_at) values ('p', 'all', '1', ${at(9)}, ${at(0)})`,
  )
  expect((await findings(env)).wrong).toEqual([expect.stringMatching(/^retention: retention has not finished for 3 d/)])
})

it('doctor knows by its lock a serve that cannot say in the database that it lives', async () => {
  const { config, remove } = newSqlite()
  const db = await openAgain(config)
  await migrate(db)
  await db.close()
  const lock = await acquireServeLock(config)
  onTestFinished(async () => {
    lock.release()
    await remove()
  })
  const env = { ...databaseEnv(config), ...accountEnv(sandbox) }
  expect(textsOf(await findings(env), 'database')[0]).toMatch(/`serve` or `restore` is running, but could not update the database/)
  lock.release()
  expect(textsOf(await findings(env), 'database')[0]).toMatch(/no `serve` is running$/)
})
