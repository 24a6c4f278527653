import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { json, runHere } from '../../../app/run.ts'
import { postgresDatabase, sqliteDatabase } from '../../../tools/databases.ts'
import { applyAll } from '../../../tools/mirror.ts'
import { byPoll, observedEvent, uuid, wireEvent } from '../../../tools/observations.ts'
import { AdminRig, refusal } from '../rig.ts'

interface Backup {
  readonly path: string
  readonly bytes: number
  readonly rows: Readonly<Record<string, number>>
}

let rig: AdminRig
afterEach(() => rig.close())

const ask = (file: unknown) => rig.ask<Backup & { detail: string }>('POST', '/backup', { body: { file } })

describe('backup by the admin routes, on sqlite', () => {
  let folder: string
  beforeEach(async () => {
    rig = await AdminRig.open(sqliteDatabase)
    const { config } = rig.opened
    if (config.kind !== 'sqlite') throw new Error('expected a file')
    folder = dirname(config.path)
  })

  it('makes a verified copy next to the database like the command, and records it', async () => {
    await applyAll(rig.db, [observedEvent('default', uuid(9, 1), wireEvent(1), byPoll)])
    const { status, json: made } = await ask('copy-1.db')
    expect(status).toBe(200)
    expect(made).toMatchObject({ path: join(folder, 'copy-1.db'), rows: { market_events: 1 } })
    const said = json<Backup>(await runHere(['backup', join(folder, 'copy-2.db'), '--json'], rig.env))
    expect(Object.keys(made)).toEqual(Object.keys(said))
    const { operator_actions: _, ...rows } = made.rows
    expect(said.rows).toMatchObject(rows)
    const copy = new Database(made.path, { readonly: true })
    expect(copy.prepare('select count(*) as n from market_events').get()).toEqual({ n: 1 })
    copy.close()
    expect(await rig.notes()).toEqual([
      { who: 'alice', action: 'backup', target: null, detail: { file: 'copy-1.db', bytes: made.bytes }, outcome: 'done' },
      { who: 'command', action: 'backup', target: null, detail: { file: said.path, bytes: said.bytes }, outcome: 'done' },
    ])
  })

  it.each(['../copy.db', '/tmp/copy.db', 'a/b.db', '.hidden.db', 'mirror.db-journal', 'copy', '', 'a\u0000.db', 7, null])(
    'accepts only a file next to the database: %j',
    async (file) => {
      const before = readdirSync(folder).sort()
      expect((await ask(file)).status).toBe(400)
      expect(readdirSync(folder).sort()).toEqual(before)
      expect(await rig.notes()).toEqual([])
    },
  )

  it('keeps an existing file, and records the failure', async () => {
    const file = join(folder, 'there.db')
    writeFileSync(file, 'mine')
    const { status, json: said } = await ask('there.db')
    expect([status, said.detail]).toEqual([400, `${file} exists already; name another file, or remove it`])
    expect((await rig.notes()).map(({ outcome }) => outcome)).toEqual(['failed'])
  })

  it('reports why no copy was made, and leaves nothing behind', async () => {
    rig.config = { ...rig.config, database: { kind: 'sqlite', path: join(folder, 'none.db') } }
    writeFileSync(join(folder, 'none.db'), 'no database')
    const { status, json: said } = await ask('copy.db')
    expect([status, said.detail]).toEqual([409, expect.stringMatching(/^no backup was made: /)])
    expect(existsSync(join(folder, 'copy.db'))).toBe(false)
    expect(rig.lines.filter(({ level }) => level === 50)).toEqual([])
  })
})

describe('backup by the admin routes, on postgres', () => {
  it('explains how to back up Postgres', async () => {
    rig = await AdminRig.open(postgresDatabase)
    expect(await ask('copy.db')).toMatchObject(refusal(422, expect.stringMatching(/pg_dump/)))
    expect(await rig.notes()).toEqual([])
  })
})
