import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { runCommand, type ServeProcess, startServe } from '../e2e/serve.ts'
import { openAgain } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { nobody } from '../tools/nobody.ts'
import { installedReaders, nodeReader, type ReaderProgram } from '../tools/readers.ts'

/** Who may read, and no more; where this process may not become him, the user of this process. */
const user = nobody()

/** Prints its counts in one transaction, first immediately and then on request. */
const LONG_READER = `
const reader = new (require('node:sqlite').DatabaseSync)(process.argv[1], { readOnly: true })
reader.exec('begin')
const say = () => console.log(String(reader.prepare('select count(*) as n from submissions').get().n))
say()
process.stdin.on('data', say)`

describe('a mirror on SQLite, read by a user of the group of its folder', () => {
  let path: string
  let readers: ReaderProgram[]
  let serve: ServeProcess

  beforeEach(async () => {
    const folder = newFolder()
    chmodSync(folder, 0o755)
    readers = [nodeReader(folder, user), ...installedReaders(user)]
    const data = join(folder, 'data')
    mkdirSync(data)
    // What is made in the folder belongs to its group, too.
    if (user.gid !== undefined) chownSync(data, 0, user.gid)
    chmodSync(data, 0o2750)
    path = join(data, 'mirror.db')
    serve = await startServe(settings())
    onTestFinished(() => serve.kill())
  })

  /** The service is away: nothing but the tests writes to the mirror. */
  const settings = () => ({
    DATABASE_URL: `sqlite:${path}`,
    BROKER_API_BASE_URL: 'http://127.0.0.1:1/api/v1',
    BROKER_API_CLIENT_ID: 'id',
    BROKER_API_CLIENT_SECRET: 'secret',
    WEBHOOK_SECRETS: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
  })

  /** Writes as a command does, with or without a running `serve`. */
  async function track(id: string): Promise<void> {
    const db = await openAgain({ kind: 'sqlite', path })
    await db.write('test', (tx) =>
      tx.run(sql`insert into submissions (account, submission_id, tracked_at, tracked_via)
        values ('a', ${id}, '2026-11-21T10:00:00.000000Z', 'command')`),
    )
    await db.close()
  }

  const files = () => readdirSync(join(path, '..')).filter((name) => /^mirror\.db(-wal|-shm|-journal)?$/.test(name))

  function expectRead(...ids: string[]): void {
    for (const { name, read } of readers) {
      const rows = read(path, 'select submission_id from submission_overview order by submission_id', user)
      expect(
        rows.map(({ submission_id }) => submission_id),
        name,
      ).toEqual(ids)
    }
  }

  it('is read while the program runs, after a clean stop, and after commands on the stopped program', async () => {
    await track('one')
    expect(files()).toEqual(['mirror.db', 'mirror.db-shm', 'mirror.db-wal'])
    for (const file of files()) expect((statSync(join(path, '..', file)).mode & 0o777).toString(8), file).toBe('640')
    expectRead('one')
    expect(await serve.stop()).toBe(0)
    expect(files()).toEqual(['mirror.db'])
    expectRead('one')
    await track('two')
    await runCommand(settings(), ['status', '--json'])
    expect(files()).toEqual(['mirror.db'])
    expectRead('one', 'two')
  })

  it('is read after the program was killed, and after it has run again', async () => {
    await track('one')
    await serve.kill()
    expectRead('one')
    serve = await startServe(settings())
    expectRead('one')
    await serve.stop()
    expectRead('one')
  })

  it('keeps its log on a stop while a reader is open, which sees its old data, and others see all', async () => {
    await track('one')
    const reader = spawn(process.execPath, ['-e', LONG_READER, path], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void reader.kill('SIGKILL'))
    const counts = createInterface({ input: reader.stdout })[Symbol.asyncIterator]()
    expect(await counts.next()).toMatchObject({ value: '1' })
    await track('two')
    expect(await serve.stop()).toBe(0)
    expect(files()).toEqual(['mirror.db', 'mirror.db-shm', 'mirror.db-wal'])
    expectRead('one', 'two')
    reader.stdin.write('again\n')
    expect(await counts.next()).toMatchObject({ value: '1' })
    const ended = once(reader, 'exit')
    reader.stdin.end()
    await ended
    expectRead('one', 'two')
  })
})
