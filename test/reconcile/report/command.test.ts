import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runHere } from '../../app/run.ts'
import { onSqlite } from '../../tools/databases.ts'
import { DamageRig } from '../damage/rig.ts'

describe.each(onSqlite)('the report of a run by the command, on $name', (database) => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'submission-mirror-report-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('reports findings and repairs, and no personal data except the insured', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `delete from market_events where submission_id = '${rig.plain}'`,
      `update thread_messages set body_text = 'forged words', from_address = 'x@y.example' where submission_id = '${rig.rich}'`,
      `update lanes set status = 'lost', next_step = 'call Ada Byron' where submission_id = '${rig.rich}'`,
    )
    const page = join(folder, 'run.html')
    const { run, findings, err } = await rig.reconcile('--report', page)
    expect(err).toBe(`the report is in ${page}\n`)
    const html = readFileSync(page, 'utf8')
    expect(html).toContain('The mirror agrees with the service again')
    for (const { submission_id, entity_id } of findings) {
      expect(html).toContain(submission_id)
      expect(html).toContain((JSON.parse(entity_id ?? '[]') as string[]).at(-1))
    }
    expect(html).toContain('&quot;lost&quot;')
    expect(html).toContain('Harbour Bakery')
    expect(html).not.toMatch(/forged|y\.example|Byron|Text of letter|producer@/)
    const again = join(folder, 'again.html')
    expect(await runHere(['reconcile', 'show', run.run_id, '--report', again], rig.env)).toMatchObject({ code: 0, out: '' })
    const both = await runHere(['reconcile', 'show', run.run_id, '--report', again, '--json'], rig.env)
    expect(JSON.parse(both.out)).toMatchObject({ run_id: run.run_id, findings })
    expect(readFileSync(again, 'utf8')).toContain(run.run_id)
    expect(readdirSync(folder).sort()).toEqual(['again.html', 'run.html'])
  })

  it('has only known formats, and reports an unwritable path', async () => {
    const rig = await DamageRig.open(database)
    for (const command of [['reconcile'], ['reconcile', 'show', 'r1']])
      expect(await runHere([...command, '--report', 'run.md'], rig.env)).toMatchObject({
        code: 2,
        err: '--report: "run.md" must end with .html\n',
      })
    const nowhere = join(folder, 'no', 'run.html')
    expect(await runHere(['reconcile', '--report', nowhere], rig.env)).toMatchObject({
      code: 2,
      err: `--report: the folder ${join(folder, 'no')} does not exist; create it first\n`,
    })
    const taken = join(folder, 'taken.html')
    mkdirSync(taken)
    const { code, err, run } = await rig.reconcile('--report', taken)
    expect({ code, err, state: run.state }).toEqual({
      code: 1,
      err: expect.stringContaining(`the report cannot be written to ${taken} (EISDIR`),
      state: 'done',
    })
    const asked = await rig.reconcile('--json', '--report', taken)
    expect({ code: asked.code, printed: JSON.parse(asked.out) }).toMatchObject({
      code: 1,
      printed: [{ run_id: asked.run.run_id, findings: [] }],
    })
  })
})
