import { expect, it, onTestFinished } from 'vitest'
import { copiedTables } from '../../../src/store/backup/copied-tables.ts'
import { sumOf } from '../../../src/store/backup/copy.ts'
import { isUnfinishedCopy } from '../../../src/store/backup/copy-progress.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { startChild } from '../../tools/child.ts'
import { openAgain, postgresDatabase as postgres, sqliteDatabase as sqlite } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { eventFacts, uuid } from '../../tools/observations.ts'
import { programPath } from '../../tools/program.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const never = new AbortController().signal

it('a copy whose process is killed is not served, and can continue', async () => {
  const [source, target] = [await sqlite.open(), await postgres.open()]
  onTestFinished(async () => void (await Promise.all([source.close(), target.close()])))
  await checkLogEpoch(source.db)
  await applyAll(source.db, eventFacts('acme', uuid(9, 5), 4_000))
  if (source.config.kind !== 'sqlite' || target.config.kind !== 'postgres') throw new Error('from SQLite to Postgres')
  const program = programPath('main')
  const set = `export DATABASE_URL='sqlite:${source.config.path}'`
  const args = ['copy', '--to', target.config.url.reveal(), '--schema', target.config.schema]
  const killed = startChild(program, args, set)
  await killed.says('copied changes')
  await killed.kill()
  expect(await isUnfinishedCopy(target.db.read)).toBe(true)

  const served = startChild(
    program,
    ['migrate'],
    `export DATABASE_URL='${target.config.url.reveal()}' DATABASE_SCHEMA=${target.config.schema}`,
  )
  await served.says('nothing to migrate')
  const again = startChild(program, args, set)
  expect(await again.says('')).toMatch(/^copied /)
  expect(await again.ended()).toBe(0)
  const db = await closedAtEnd(openAgain(source.config))
  for (const table of await copiedTables(target.db.read)) {
    // The source has released its log, and each database records the copy.
    if (['sync_log_epochs', 'operator_actions'].includes(table.name)) continue
    expect(await sumOf(target.db.read, table, never), table.name).toEqual(await sumOf(db.read, table, never))
  }
})
