import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { json, runHere } from '../../app/run.ts'
import { onSqlite } from '../../tools/databases.ts'
import { uuid } from '../../tools/facts.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { AdminRig } from '../http/rig.ts'

const BAKERY = uuid(9, 1)

describe.each(onSqlite)('submissions by command on $name', (database) => {
  let rig: AdminRig
  beforeAll(async () => {
    rig = await AdminRig.open(database)
    await ensureAccounts(rig.db, ['acme'])
    await fillScene(rig.db)
  })
  afterAll(() => rig.close())

  const command = (...args: string[]) => runHere(args[0] === 'row' ? args : ['submission', ...args], rig.env)

  it('are shown whole to who has the database anyway', async () => {
    const { tables } = json<{ tables: Record<string, object[]> }>(
      await command('show', BAKERY.toUpperCase(), '--account', 'acme', '--json'),
    )
    expect(tables['bind_requests']).toMatchObject([{ requested_by: 'Jane Doe' }])
    const kinds = ['--account', 'acme', '--kinds', 'message,event', '--json']
    const { items } = json<{ items: object[] }>(await command('timeline', BAKERY, ...kinds))
    expect(items).toMatchObject([{ kind: 'message', party: 'desk@service.example' }, { kind: 'event' }, { kind: 'event' }])
    const row = await command('row', 'show', `acme/${BAKERY}/${uuid(2, 31)}`, '--table', 'thread_messages')
    expect(row.out).toMatch(/\nfrom_address +desk@service\.example\n/)
    expect(await rig.notes()).toEqual([])
  })

  it('are read by people too', async () => {
    const list = await command('list', '--search', 'harbour')
    expect(list.out).toContain('Harbour Bakery LLC')
    expect(list.out).not.toContain(uuid(9, 2))
    const { out } = await command('show', BAKERY, '--account', 'acme')
    expect(out).toMatch(/^Harbour Bakery LLC: quoted, TX, 2026-03-01\n/)
    for (const part of ['Lanes', 'Alder Point', 'Best quote: ', 'Outstanding', 'Freshness', 'Proved equal to the service: '])
      expect(out).toContain(part)
    expect((await command('timeline', BAKERY, '--account', 'acme')).out).toContain('Timeline, the newest first')
  })

  it('that are not there are told in one line', async () => {
    expect(await command('show', 'bakery', '--account', 'acme')).toMatchObject({
      code: 2,
      err: 'submission_id: "bakery" is no submission id (a uuid)\n',
    })
    const unknown = await command('show', uuid(9, 77), '--account', 'acme')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toMatch(/is not tracked in account acme; track it with/)
    expect((await command('list', '--sort', 'size')).err).toMatch(/^--sort: /)
  })
})
