import { describe, expect, it } from 'vitest'
import { auditAction, auditedDb } from '../../../../src/store/operators/actions.ts'
import { runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { adminRigForEach, BOB } from '../rig.ts'

interface Page {
  readonly items: readonly { readonly action_id: number; readonly who: string; readonly action: string; readonly at: string }[]
  readonly next_cursor: string | null
}

describe.each(testDatabases)('audit entries of operators, on $name', (database) => {
  const rig = adminRigForEach(database)

  const list = async (query = '') => (await rig.ask<Page>('GET', `/actions${query}`)).json

  it('are listed page by page, newest first', async () => {
    await rig.ask('POST', '/destinations/ams/pause')
    await rig.ask('POST', '/destinations/ams/resume', { token: BOB })
    await runHere(['destination', 'pause', 'mapped'], rig.env)
    const all = await list()
    expect(all).toMatchObject({
      next_cursor: null,
      items: [
        { who: 'command', action: 'destination.pause', target: 'mapped', detail: { reason: 'paused by an operator' }, outcome: 'done' },
        { who: 'bob', action: 'destination.resume', target: 'ams', detail: { was: 'paused' } },
        { who: 'alice', action: 'destination.pause', target: 'ams', detail: { reason: 'paused by alice' } },
      ],
    })
    for (const { at } of all.items) expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    const first = await list('?limit=2')
    expect(await list(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    expect((await list('?who=bob')).items).toEqual([all.items[1]])
    expect((await list('?action=destination.pause&since=1h')).items).toEqual([all.items[0], all.items[2]])
  })

  it('commit with their transaction', async () => {
    const db = auditedDb(rig.db, { who: 'alice', action: 'test', target: null, detail: {} })
    await expect(
      db.write('test', async () => {
        throw new Error('in vain')
      }),
    ).rejects.toThrow('in vain')
    expect(await rig.notes()).toEqual([])
    await db.write('test', async () => undefined)
    expect(await rig.notes()).toMatchObject([{ outcome: 'done' }])
  })

  it('record start, end and failure of an action with several transactions', async () => {
    const note = { who: 'alice', action: 'test', target: 'a', detail: { text: 'a\u0000b\ud800' } }
    let during: unknown
    await auditAction(rig.db, note, async () => {
      during = await rig.notes()
      return { detail: { n: 1 } }
    })
    // Text is stored as both databases allow.
    const detail = { text: 'a\ufffdb\ufffd' }
    expect(during).toEqual([{ ...note, detail, outcome: 'begun' }])
    const failure = auditAction(rig.db, note, async () => {
      throw new Error('in vain')
    })
    await expect(failure).rejects.toThrow('in vain')
    expect((await rig.notes()).map((each) => [each.detail, each.outcome])).toEqual([
      [{ ...detail, n: 1 }, 'done'],
      [detail, 'failed'],
    ])
  })

  it('record a reload, which answers with changes or problems', async () => {
    rig.reloaded = { applied: ['destination ams has a new secret'], needsRestart: ['PORT'], fromEnvironment: [], problems: [] }
    const changes = { applied: ['destination ams has a new secret'], needs_restart: ['PORT'] }
    expect(await rig.ask('POST', '/reload')).toMatchObject({ status: 200, json: changes })
    rig.reloaded = { applied: [], needsRestart: [], fromEnvironment: [], problems: ['PORT must be a number', 'HOST must be an address'] }
    expect(await rig.ask('POST', '/reload')).toMatchObject({ status: 422, json: { problems: rig.reloaded.problems } })
    const reload = { who: 'alice', action: 'settings.reload', target: null }
    expect(await rig.notes()).toEqual([
      { ...reload, outcome: 'done', detail: { ...changes, problems: 0 } },
      { ...reload, outcome: 'failed', detail: { applied: [], needs_restart: [], problems: 2 } },
    ])
  })
})
