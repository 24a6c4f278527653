import { describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../../src/apply/apply.ts'
import { silentObserver } from '../../../../src/base/observer.ts'
import { json, runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { observedMessage, observedState, wireMessage, wireRequirements } from '../../../tools/observations.ts'
import { fanOut, tryFirst } from '../../cli/push-rig.ts'
import { adminRigForEach, type Page, refusal } from '../rig.ts'

const id = (n: number) => `bbbbbbbb-0000-4000-8000-${String(n).padStart(12, '0')}`

describe.each(testDatabases)('mappings by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  const store = (body: unknown, to = 'mapped') => rig.ask('POST', `/destinations/${to}/mappings`, { body })
  const csv = (text: string | Buffer, type = 'text/csv') => rig.ask('POST', '/destinations/mapped/mappings.csv', { raw: { type, text } })
  const list = async (query = '') => (await rig.ask<Page>('GET', `/destinations/mapped/mappings${query}`)).json

  it('stores rows, and lists them page by page like the command', async () => {
    await rig.ask('POST', '/submissions/track', { body: { ids: [id(1)] } })
    const rows = [
      { submission_id: id(2), client: 'C-2', policy: 'P-2', fields: { branch: 'north' } },
      { submission_id: id(1), client: 'C-1', account: 'default' },
      { submission_id: id(3), client: 'C-3' },
    ]
    expect(await store({ rows })).toMatchObject({ status: 200, json: { stored: 3, unknown_submissions: 2 } })
    const all = await list()
    expect(all.items).toEqual(json<Page>(await runHere(['destination', 'mappings', 'mapped', '--json'], rig.env)).items)
    expect(all.items).toMatchObject([
      { submission_id: id(1), client: 'C-1', policy: null, fields: {}, mapped_via: 'admin' },
      { submission_id: id(2), client: 'C-2', policy: 'P-2', fields: { branch: 'north' } },
      { submission_id: id(3) },
    ])
    const first = await list('?limit=2')
    expect(await list(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    expect((await list(`?submission_id=${id(3)}`)).items).toEqual([all.items[2]])
    expect((await rig.ask('GET', '/destinations/mapped/mappings?cursor=x')).status).toBe(400)
    expect((await rig.notes()).slice(1)).toEqual([
      { who: 'alice', action: 'mapping.import', target: 'mapped', detail: { rows: 3, unknown_submissions: 2 }, outcome: 'done' },
    ])
  })

  it('stores a CSV, and accepts nothing else there', async () => {
    expect(await csv(`submission_id;client;branch\n${id(1)};C-1;north\n${id(2)};C-2;\n`, 'text/csv; charset=utf-8')).toMatchObject({
      status: 200,
      json: { stored: 2, unknown_submissions: 2 },
    })
    expect((await list()).items).toMatchObject([{ client: 'C-1', fields: { branch: 'north' } }, { client: 'C-2' }])
    expect(await csv('{}', 'application/json')).toMatchObject(refusal(415, 'unsupported content type. Send text/csv'))
    expect((await rig.ask('POST', '/destinations/mapped/mappings', { raw: { type: 'text/csv', text: 'x' } })).status).toBe(415)
  })

  it('accepts either one submission or a large CSV as text', async () => {
    const single = { submission_id: id(1), client: 'C-1', fields: { branch: 'north' } }
    expect(await store(single)).toMatchObject({ status: 200, json: { stored: 1, unknown_submissions: 1 } })
    const file = `submission_id,client\n# ${'x'.repeat(100_000)}\n${id(2)},C-2\n`
    expect(await store({ file })).toMatchObject({ status: 200, json: { stored: 1 } })
    expect((await list()).items).toMatchObject([
      { client: 'C-1', fields: { branch: 'north' } },
      { client: 'C-2', fields: {} },
    ])
    expect(await store({ file: `submission_id,client\nx,C-3\n` })).toMatchObject({
      status: 400,
      json: { problems: ['file, line 2: "x" is not a submission id (a uuid)', 'nothing was stored'] },
    })
    for (const wrong of [{}, { client: 'C-1' }, { submission_id: id(1) }, { ...single, file }, { file, rows: [single] }])
      expect(await store(wrong)).toMatchObject(refusal(400, expect.stringMatching(/^body: give (?:a file,|only a file or rows)/)))
  })

  it('stores nothing of a CSV that is not UTF-8', async () => {
    const text = `submission_id,client,owner\n${id(1)},C-1,M\u00fcller\n`
    for (const bytes of [Buffer.from(text, 'latin1'), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
      expect(await csv(bytes)).toMatchObject({
        status: 400,
        json: { problems: ['the CSV is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")', 'nothing was stored'] },
      })
    }
    expect((await list()).items).toEqual([])
    expect(await csv(Buffer.from(text))).toMatchObject({ status: 200 })
    expect((await list()).items).toMatchObject([{ client: 'C-1', fields: { owner: 'M\u00fcller' } }])
  })

  it('stores nothing if a row is invalid, and reports all problems', async () => {
    expect(await csv(`submission_id,client\n${id(1)},C-1\nx,C-2\n${id(3)},\n`)).toMatchObject({
      status: 400,
      json: {
        problems: ['the CSV, line 3: "x" is not a submission id (a uuid)', 'the CSV, line 4: the client is missing', 'nothing was stored'],
      },
    })
    const problems = ['"client" is not allowed as a name in fields', 'nothing was stored']
    const lost = { submission_id: id(1), client: 'C-1', fields: { client: 'C-2' } }
    expect(await store({ rows: [lost] })).toMatchObject({ status: 400, json: { problems } })
    const rows = [id(1), 'x'].map((submission_id) => ({ submission_id, client: 'C-1' }))
    const second = ['row 2: "x" is not a submission id (a uuid)', 'nothing was stored']
    expect(await store({ rows })).toMatchObject({ status: 400, json: { problems: second } })
    expect(await store({ rows: [{ submission_id: id(1), client: 'C-1', color: 'red' }] })).toMatchObject({ status: 400 })
    expect(await list()).toEqual({ items: [], next_cursor: null })
    expect(await rig.notes()).toEqual([])
  })

  it('stores a repeated row once, and nothing if its values differ', async () => {
    const row = { submission_id: id(1), client: 'C-1', fields: { branch: 'north', unit: '7' } }
    const same = { ...row, submission_id: id(1).toUpperCase(), account: 'default', fields: { unit: '7', branch: 'north' } }
    expect(await store({ rows: [row, { submission_id: id(2), client: 'C-2' }, same, { ...row, client: 'C-9' }] })).toMatchObject({
      status: 400,
      json: { problems: [`row 4: ${id(1)} is mapped twice with different values`, 'nothing was stored'] },
    })
    expect(await list()).toEqual({ items: [], next_cursor: null })
    expect(await store({ rows: [row, same] })).toMatchObject({ status: 200, json: { stored: 1, unknown_submissions: 1 } })
    expect((await list()).items).toMatchObject([{ client: 'C-1', fields: { branch: 'north', unit: '7' } }])
  })

  it('lists submissions that need a client, with insured, number of changes and age', async () => {
    const names = ['Delacroix Networks', 'Fairmont Bakery', 'Fairmont Roofing']
    for (const [n, insured] of names.entries()) {
      const facts = [0, 1].map((k) => observedMessage('default', id(n), wireMessage(10 * n + k, { body_text: `${k}` })))
      const state = observedState('default', id(n), wireRequirements(id(n), null, { insured_name: insured }), 1)
      await inApplyTransaction(rig.db, silentObserver, 'test', (transaction) => transaction.apply([...facts, state]))
    }
    await fanOut(rig.db, rig.config.destinations)
    await tryFirst(rig.db, 'mapped', null, { type: 'blocked', as: 'unmapped' })
    const waiting = async (query = '', of = 'mapped') => (await rig.ask<Page>('GET', `/destinations/${of}/unmapped${query}`)).json
    const all = await waiting()
    const rest = { account: 'default', changes: 2, since: expect.stringMatching(/^20/) }
    expect(all.items).toEqual(names.map((insured_name, n) => ({ ...rest, submission_id: id(n), insured_name })))
    expect(await waiting('', 'ams')).toEqual({ items: [], next_cursor: null })
    expect((await waiting('?search=fairmont')).items).toEqual(all.items.slice(1))
    expect((await waiting('?search=bakery')).items).toEqual([all.items[1]])
    const first = await waiting('?limit=2')
    expect(await waiting(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    await store({ rows: [{ submission_id: id(1), client: 'C-1' }] })
    expect((await waiting()).items).toEqual([all.items[0], all.items[2]])
    expect((await rig.ask('GET', '/destinations/nowhere/unmapped')).status).toBe(404)
  })

  it('rejects an unknown destination, and one without mapping', async () => {
    const rows = [{ submission_id: id(1), client: 'C-1' }]
    expect(await store({ rows }, 'nowhere')).toMatchObject(refusal(404, 'the settings have no destination "nowhere"; known: ams, mapped'))
    expect(await store({ rows }, 'ams')).toMatchObject(refusal(422, expect.stringMatching(/^destination ams uses no/)))
  })
})
