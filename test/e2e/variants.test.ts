import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { mixOf } from '../../src/sandbox/service/unshown.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { logFaults, untilAgreed } from './agreement.ts'
import { Stage } from './stage.ts'

const [first = 1, last = first] = (process.env['MIXES'] ?? '1').split('-').map(Number)
const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index)

describe.each([
  { name: 'sqlite', newPlace: () => newSqlite() },
  { name: 'postgres', newPlace: () => newPostgres(inject('postgresUrl')) },
])('variants of the service, on $name', ({ newPlace }) => {
  it.each(seeds)('the mirror equals a service with the mix %i of variants, and a reconcile run finds nothing', async (seed) => {
    const place = newPlace()
    onTestFinished(() => place.remove())
    const unshown = mixOf(String(seed))
    const stage = await closedAtEnd(Stage.open(place.config, { seed: `mix ${seed}`, submissions: 4, lists: true, faults: 'all', unshown }))
    const { sandbox } = stage
    const running = await stage.serve()
    await stage.track()
    stage.deliverTo(running.receiver)
    while (sandbox.story.step() !== null);
    await sandbox.deliveries.idle()
    sandbox.faults.set([])
    const db = await stage.openStore()
    const about = JSON.stringify(unshown)
    expect(await untilAgreed(db, sandbox, running), about).toEqual([])
    expect(await running.stop()).toBe(0)
    expect(await logFaults(db), about).toEqual([])
    const { code, out, err } = await stage.command('reconcile', '--dry-run')
    expect(code, `${about} ${out} ${err}`).toBe(0)
  })
})
