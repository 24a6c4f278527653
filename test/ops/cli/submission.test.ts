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

  const command = (...args: string[]) => runHere(['submission', ...args], rig.env)
  const route = async <T>(path: string) => (await rig.ask<T>('GET', path)).json

  it('answer what the routes answer', async () => {
    const listed = await route<{ items: unknown[] }>('/submissions?sort=name')
    expect(json(await command('list', '--sort', 'name', '--json'))).toEqual(listed.items)
    const shown = await command('show', BAKERY.toUpperCase(), '--account', 'acme', '--json')
    // How late it is passes on between the two.
    const without = ({ ledger, ...view }: { ledger: object }) => ({ ...view, ledger: { ...ledger, lag_seconds: 0 } })
    expect(without(json(shown))).toMatchObject(without(await route(`/submissions/acme/${BAKERY}`)))
    const timeline = await route<{ items: unknown[] }>(`/submissions/acme/${BAKERY}/timeline?limit=3`)
    expect(json(await command('timeline', BAKERY, '--account', 'acme', '--limit', '3', '--json'))).toEqual(timeline.items)
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
    expect(await command('show', 'bakery', '--account', 'acme')).toMatchObject({ code: 2, err: '"bakery" is no submission id (a uuid)\n' })
    const unknown = await command('show', uuid(9, 77), '--account', 'acme')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toMatch(/is not tracked in account acme; track it with/)
    expect((await command('list', '--sort', 'size')).err).toMatch(/^--sort: /)
  })
})
