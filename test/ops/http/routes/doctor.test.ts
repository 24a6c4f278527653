import { describe, expect, it } from 'vitest'
import { json, runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { adminRigForEach, refusal } from '../rig.ts'

interface Finding {
  readonly about: string
  readonly ok: boolean | null
  readonly text: string
}

describe.each(testDatabases)('doctor by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  const ask = (body?: object) => rig.ask<{ items: readonly Finding[] }>('POST', '/doctor', { body })
  const kinds = (findings: readonly Finding[]) =>
    findings.map(({ about, ok }) => `${ok === null ? 'unchecked' : ok ? 'ok' : 'wrong'} ${about}`)

  it('makes the checks of the command, and records it', async () => {
    const { status, json: found } = await ask()
    expect(status).toBe(200)
    expect(kinds(found.items)).toEqual(kinds(json<{ items: Finding[] }>(await runHere(['doctor', '--json'], rig.env)).items))
    expect(kinds(found.items)).toEqual(
      expect.arrayContaining(['ok settings', 'ok database', 'wrong account default', 'unchecked receiver', 'ok destination ams']),
    )
    const count = (wanted: boolean | null) => found.items.filter(({ ok }) => ok === wanted).length
    const detail = { looked: found.items.length, wrong: count(false), unchecked: count(null) }
    expect(await rig.notes()).toEqual([{ who: 'alice', action: 'doctor', target: null, detail, outcome: 'done' }])
  })

  it('checks a single destination, and rejects an unknown one', async () => {
    const { items } = (await ask({ destination: 'ams' })).json
    expect(items).toEqual(json<{ items: Finding[] }>(await runHere(['doctor', '--destination', 'ams', '--json'], rig.env)).items)
    expect(items[0]).toMatchObject({ about: 'destination ams', ok: true })
    expect(await ask({ destination: 'asm' })).toMatchObject(refusal(404, 'the settings have no destination "asm"; did you mean ams?'))
    expect((await rig.notes()).map(({ target }) => target)).toEqual(['ams'])
  })

  it('answers 503 without a logged error if the process stops', async () => {
    rig.beginStop()
    const { status, headers, json: said } = await rig.ask<{ detail: string }>('POST', '/doctor')
    expect([status, said.detail]).toEqual([503, 'the process is stopping; completed steps are kept'])
    expect(headers.get('retry-after')).not.toBeNull()
    expect(rig.lines.filter(({ level }) => level === 50)).toEqual([])
    expect((await rig.notes()).map(({ action, outcome }) => [action, outcome])).toEqual([['doctor', 'failed']])
  })
})
