import { describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { outboxFor } from '../push/outbox-states.ts'
import { onSqlite } from '../tools/databases.ts'
import { type Stage, setStage } from './browser.ts'
import { openScene } from './scene.ts'

/** A template for each event. It fails for a change of status. */
const notes = (url: string) =>
  `{ name: notes, kind: http, allow_private: true, entities: [market_events], personal_fields: [market_events.detail], schedule: [100ms], request: { url: '"${url}?sig=\${SIG}"', headers: { x-kind: after.type }, body: 'after.type = "status_changed" ? $error("no kind of note for it") : {"note": after.detail}' } }`

describe.each(onSqlite)('the preview of a request, on $name', (database) => {
  let { scene, person, page } = {} as Stage
  let id: string

  setStage((stage) => ({ scene, person, page } = stage), {
    database,
    role: 'operator',
    open: () => openScene(database, { SIG: 'the-secret-of-the-address' }, ({ url }) => [notes(url)]),
    prepare: ({ sandbox }) => {
      sandbox.faults.set([])
      id = sandbox.submissionIds('default')[0] ?? ''
    },
  })

  /** Adds an event. @returns its number in the change log. */
  async function logged(type: string, detail: string): Promise<number> {
    scene.sandbox.addEvent('default', id, { type, detail })
    const found = async () =>
      (await scene.db.read.sql.selectFrom('changes').select(['seq', 'after']).where('entity', '=', 'market_events').execute()).find(
        ({ after }) => (after as { detail?: string } | null)?.detail === detail,
      )?.seq ?? null
    await expect.poll(found).not.toBeNull()
    return Number(await found())
  }

  it('previews a change by its number, with the secret masked', async () => {
    const seq = await logged('quote_received', 'Premium <b>10,000</b>')
    await person.goto('/destinations/notes')
    await page.getByRole('button', { name: 'Preview request…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Preview request to notes' })
    await dialog.getByRole('button', { name: 'Preview request', exact: true }).click()
    await dialog.getByRole('alert').getByText('Enter a change number or choose a submission.').waitFor()
    await dialog.getByLabel('Change number').fill(String(seq))
    await dialog.getByRole('button', { name: 'Preview request', exact: true }).click()
    const shown = dialog.getByRole('list', { name: 'Requests to notes' })
    await shown.getByRole('heading', { name: `Change ${seq}, market_events.insert` }).waitFor()
    await shown.getByText('Premium <b>10,000</b>').waitFor()
    const text = await shown.innerText()
    expect(text).toContain(`POST ${scene.agency.url}`)
    expect(text).toContain('quote_received')
    expect(text).not.toContain('the-secret-of-the-address')
    expect(await person.violations()).toEqual([])
    expect(await listActions(scene.db.read, { action: 'destination.preview', who: 'otto' }, 50)).toHaveLength(1)
  })

  it('shows the error of a failed template', async () => {
    const seq = await logged('status_changed', 'it moved on')
    // The row of a dead change no longer moves, so a dialog in it stays open.
    await expect.poll(async () => (await outboxFor(scene.db, 'notes')).find((row) => row.seq === seq)?.state).toBe('dead')
    await person.goto('/destinations/notes?state=any')
    await page.getByRole('button', { name: `Request and answer of change ${seq}` }).click()
    const dialog = page.getByRole('dialog', { name: `Change ${seq}: request and answer` })
    await dialog.getByRole('button', { name: 'Preview request' }).click()
    const error = await dialog.getByRole('list', { name: 'Requests to notes' }).getByRole('alert').innerText()
    expect(error).toContain('request.body')
    expect(error).toContain('no kind of note for it')
    await page.keyboard.press('Escape')
  })

  it('previews the newest changes of a submission', async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Preview request…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Preview request to agency' })
    await dialog.getByLabel('Submission').fill(id)
    await dialog.getByRole('list', { name: 'Submissions found' }).getByRole('button').first().click()
    await dialog.getByRole('button', { name: 'Preview request', exact: true }).click()
    const shown = dialog.getByRole('list', { name: 'Requests to agency' })
    await shown.getByRole('heading').first().waitFor()
    expect(await shown.getByText('webhook-id').count()).toBeGreaterThan(0)
  })
})
