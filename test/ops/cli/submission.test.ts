import { beforeAll, describe, expect, it } from 'vitest'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { json, runHere } from '../../app/run.ts'
import { onSqlite } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { adminRigForAll } from '../http/rig.ts'

const BAKERY = uuid(9, 1)

describe.each(onSqlite)('submissions by command on $name', (database) => {
  const rig = adminRigForAll(database)
  beforeAll(async () => {
    await ensureAccounts(rig.db, ['acme'])
    await fillScene(rig.db)
  })

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
    for (const part of ['Lanes', 'Alder Point', 'Lowest quote: ', 'Open items', 'Freshness', 'Last reconciled: '])
      expect(out).toContain(part)
    expect((await command('timeline', BAKERY, '--account', 'acme')).out).toContain('Timeline, newest first')
  })

  it('print no control character of a remote text', async () => {
    const hostile = '\u001b]0;title\u0007\u001b[2J\u009b2J\u202eHostile\r'
    const write = (text: string, was: string) =>
      rig.db.write('test', (tx) => tx.sql.updateTable('submissions').set({ insured_name: text }).where('insured_name', '=', was).execute())
    await write(hostile, 'Harbour Bakery LLC')
    const query = (...how: string[]) => runHere(['query', `select insured_name as "${hostile}" from submissions`, ...how], rig.env)
    const printed = [
      await command('list'),
      await command('show', BAKERY, '--account', 'acme'),
      await command('show', BAKERY, '--account', 'acme', '--json'),
      await command('show', hostile, '--account', hostile),
      await command('timeline', BAKERY, '--account', 'acme'),
      await query(),
      await query('--json'),
      await runHere(['query', `select "${hostile}"."x" from submissions`], rig.env),
    ]
    await write('Harbour Bakery LLC', hostile)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
    for (const { out, err } of printed) expect(`${out}${err}`).not.toMatch(control)
    expect(printed[1]?.out).toContain('\\u001b[2J')
    expect(JSON.parse(printed[6]?.out ?? '')).toContainEqual({ [hostile]: hostile })
  })

  it('that do not exist are reported in one line', async () => {
    const nobody = await command('show', 'zzz', '--account', 'acme')
    expect([nobody.code, nobody.err]).toEqual([2, expect.stringMatching(/^no submission has an id that starts with "zzz", or /)])
    expect((await command('show', '--', '--')).code).toBe(2)
    expect((await command('show', 'harbour', '--account', 'acmee')).err).toBe('unknown account "acmee"; did you mean acme?\n')
    const unknown = await command('show', uuid(9, 77), '--account', 'acme')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toMatch(/is not tracked in account acme\. Track it with/)
    expect((await command('list', '--sort', 'size')).err).toMatch(/^--sort: /)
  })

  it('are named by the beginning of an id or by words of the insured, where only one is meant', async () => {
    const whole = await command('timeline', BAKERY, '--account', 'acme', '--json')
    expect(whole.code).toBe(0)
    for (const named of ['harbour', 'Bakery HARB']) expect([named, await command('timeline', named, '--json')]).toEqual([named, whole])
    const other = 'ABCDEF01-0000-4000-8000-000000000001'
    expect(await runHere(['track', other], rig.env)).toMatchObject({ code: 0 })
    const { summary } = json<{ summary: object }>(await command('show', 'ABCdef', '--json'))
    expect(summary).toMatchObject({ account: 'default', submission_id: other.toLowerCase() })
    const items = await runHere(['item', 'list', '--submission', 'harbour', '--json'], rig.env)
    expect(items).toEqual(await runHere(['item', 'list', '--submission', BAKERY, '--account', 'acme', '--json'], rig.env))
    expect(json<{ items: object[] }>(items).items.length).toBeGreaterThan(0)
  })

  it('need no account where the database has one, and name those that it has', async () => {
    const only = Object.fromEntries(Object.entries(rig.env).filter(([name]) => name.startsWith('DATABASE')))
    const show = (...args: string[]) => runHere(['submission', 'show', BAKERY, ...args], only)
    const several = await show()
    expect([several.code, several.err]).toEqual([
      2,
      expect.stringMatching(/^--account: no default account is configured\. Use one of acme, default\n$/),
    ])
    expect(await show('--account', 'acme')).toMatchObject({ code: 0, err: '' })
    await rig.db.write('test', ({ sql }) => sql.deleteFrom('sync_accounts').where('account', '!=', 'acme').execute())
    expect(await show()).toMatchObject({ code: 0, err: '' })
  })

  it('that match several are listed, with what distinguishes them', async () => {
    const { code, err } = await command('show', BAKERY.slice(0, 8))
    expect(code).toBe(2)
    expect(err).toMatch(/^"[0-9a-f]{8}" matches \d+ submissions; give more of the name, or an id:\n/)
    expect(err).toContain(`\n  ${BAKERY}  Harbour Bakery LLC (account acme)\n`)
  })

  it('are changed and removed by their whole ids alone', async () => {
    for (const args of [
      ['purge', 'harbour', '--dry-run'],
      ['outbox', 'skip', '--submission', 'harbour'],
      ['destination', 'resend', 'ams', '--submission', 'harbour'],
    ]) {
      const { code, err } = await runHere(args, rig.env)
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining('"harbour" is not a submission id (a uuid)')])
    }
  })
})
