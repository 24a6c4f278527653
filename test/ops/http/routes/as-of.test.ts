import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { runHere } from '../../../app/run.ts'
import { runSql, testDatabases } from '../../../tools/databases.ts'
import { applyAll } from '../../../tools/mirror.ts'
import {
  byPoll,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../../tools/observations.ts'
import { adminRigForAll, type Page } from '../rig.ts'

const ID = uuid(9, 1)
type Lanes = { readonly as_of: object | null; readonly tables: { readonly lanes: readonly { readonly chip: string }[] } }

describe.each(testDatabases)('a submission at an earlier time, on $name', (database) => {
  const rig = adminRigForAll(database)
  /** Times before the tracking, and after each step. */
  const times: string[] = []

  beforeAll(async () => {
    const state = (readNo: number, chip: string, cents: number) =>
      observedState(
        'default',
        ID,
        wireRequirements(ID, [
          wireLane(1, {
            chip,
            quotes: [{ quote_id: 'q', premium_display: `$${cents}`, total_cents: cents, lines: [], is_revision: false }],
          }),
        ]),
        readNo,
      )
    const steps = [
      [trackFact('default', ID)],
      [state(1, 'in_progress', 900), observedMessage('default', ID, wireMessage(1), byPoll)],
      [state(2, 'bound', 700), observedEvent('default', ID, wireEvent(2), byPoll)],
    ]
    const pause = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      times.push(timeFromMs(Date.now()))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await pause()
    for (const step of steps) {
      await applyAll(rig.db, step)
      await pause()
    }
  })

  const show = (at: string, rest = '') => rig.ask<Lanes>('GET', `/submissions/default/${ID}?at=${at}${rest}`)
  const timeline = async (at: string, rest = '') =>
    (await rig.ask<Page>('GET', `/submissions/default/${ID}/timeline?at=${at}&kinds=event,message${rest}`)).json.items.map(
      (item) => item['kind'],
    )

  it('has the rows of then', async () => {
    const [, tracked = '', first = '', last = ''] = times
    expect((await show(tracked)).json.tables.lanes).toEqual([])
    expect((await show(first)).json).toMatchObject({
      as_of: { at: first, by: 'learned', since: expect.any(String) as string },
      summary: { stage: 'in_progress', best_quote: { total_cents: 900 } },
      tables: { lanes: [{ chip: 'in_progress' }] },
      completeness: null,
    })
    expect((await show(last)).json).toMatchObject({ summary: { stage: 'bound', best_quote: { total_cents: 700 } } })
    expect((await rig.ask<Lanes>('GET', `/submissions/default/${ID}`)).json.as_of).toBeNull()
    expect(await timeline(tracked)).toEqual([])
    expect(await timeline(first)).toEqual(['message'])
    expect((await timeline(last)).sort()).toEqual(['event', 'message'])
  })

  it('has the events and messages of then by their own time, also those learned later', async () => {
    expect(await timeline('2026-01-05T12:01:30Z', '&by=happened')).toEqual(['message'])
    expect((await timeline('2026-01-05T12:02:30Z', '&by=happened')).sort()).toEqual(['event', 'message'])
    const { json } = await show('2026-01-05T12:02:30Z', '&by=happened')
    expect(json).toMatchObject({ as_of: { by: 'happened' }, tables: { lanes: [] } })
  })

  it('is shown by the command', async () => {
    const { out } = await runHere(['submission', 'show', ID, '--at', times[2] ?? ''], rig.env)
    expect(out).toMatch(/^As of .* UTC \(learned\)\./)
    expect(out).toContain('Lowest quote: $900')
    expect(out).not.toContain('Freshness')
  })

  it('is refused with the first possible time if the mirror did not know it, or the log no longer reaches back', async () => {
    const [before = '', , first = '', last = ''] = times
    expect(await show(before)).toMatchObject({ status: 404, json: { detail: expect.stringMatching(/did not know .* Give a time after/) } })
    const [oldest] = await rig.db.read.all(sql<{ seq: number }>`select max(seq) as seq from changes where changed_at < ${first}`)
    await runSql(rig.db, sql`delete from changes where seq <= ${oldest?.seq ?? 0}`)
    await runSql(rig.db, sql`update mirror_info set first_seq = ${(oldest?.seq ?? 0) + 1}`)
    expect(await show(before, '&by=happened')).toMatchObject({
      status: 404,
      json: { detail: expect.stringContaining('Give a time after') },
    })
    expect((await show(last)).status).toBe(200)
  })
})
