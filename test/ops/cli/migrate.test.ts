import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { runHere } from '../../app/run.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

it.each(testDatabases)('migrate on $name prints what a role may read now, and rejects incomplete options', async ({ name, open }) => {
  const { config } = await closedAtEnd(open())
  const migrate = (...options: string[]) => runHere(['migrate', ...options], databaseEnv(config))
  const half = { code: 2, out: '', err: '--without-personal requires --grant-reader ROLE\n' }
  expect(await migrate('--without-personal')).toEqual(half)
  if (name === 'sqlite') {
    const refused = { code: 2, out: '', err: '--grant-reader: SQLite has no roles; give the reader access to the file\n' }
    expect(await migrate('--grant-reader', 'analyst', '--without-personal')).toEqual(refused)
    return
  }
  const role = `analyst_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  await admin.query(`create role ${role}`)
  onTestFinished(async () => {
    await admin.query(`drop role ${role}`)
    await admin.end()
  })
  const whole = `nothing to migrate\n${role} may read the public tables and views\n`
  expect(await migrate('--grant-reader', role)).toEqual({ code: 0, out: whole, err: '' })
  const without = ', except columns that may contain personal data; its queries must list their columns\n'
  const masked = `nothing to migrate\n${role} may read the public tables and views${without}`
  expect(await migrate('--grant-reader', role, '--without-personal')).toEqual({ code: 0, out: masked, err: '' })
  const notes = await runHere(['action', 'list', '--json'], databaseEnv(config))
  const granted = (JSON.parse(notes.out) as { items: { action: string; target: string }[] }).items
  expect(granted.map(({ action, target }) => [action, target])).toEqual(Array(2).fill(['reader.grant', role]))
  const owned = new pg.Client({ connectionString: config.kind === 'postgres' ? config.url.reveal() : '' })
  await owned.connect()
  await owned.query(`drop owned by ${role}`)
  await owned.end()
})
