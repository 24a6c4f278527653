import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { outboxFor } from '../push/outbox-states.ts'
import { onSqlite } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, type Scene } from './scene.ts'

/** Makes a note of each event, and has no way to make one of a change of status. */
const notes = (url: string) =>
  `{ name: notes, kind: http, allow_private: true, entities: [market_events], personal_fields: [market_events.detail], schedule: [100ms], request: { url: '"${url}?sig=\${SIG}"', headers: { x-kind: after.type }, body: 'after.type = "status_changed" ? $error("no kind of note for it") : {"note": after.detail}' } }`

describe.each(onSqlite)('the preview of a request, on $name', (database) => {
  let browser: Browser
  let scene: Scene
  let person: Person
  let page: Page
  let id: string

  beforeAll(async () => {
    browser = await launchBrowser()
    scene = await openScene(database, { SIG: 'the-secret-of-the-address' }, ({ url }) => [notes(url)])
    scene.sandbox.faults.set([])
    id = scene.sandbox.submissionIds('default')[0] ?? ''
    person = await Person.open(browser, scene)
    page = person.page
    await person.signIn('operator')
  })

  afterAll(async () => {
    await person.close()
    await browser.close()
    await scene.close()
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

  it('shows on the page of a destination what it would be sent of a change by its number, the secret masked', async () => {
    const seq = await logged('quote_received', 'Premium <b>10,000</b>')
    await person.goto('/destinations/notes')
    await page.getByRole('button', { name: 'Preview request…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Preview request to notes' })
    await dialog.getByRole('button', { name: 'Preview request', exact: true }).click()
    await dialog.getByRole('alert').getByText('Give the number of a change, or choose a submission.').waitFor()
    await dialog.getByLabel('Change by number').fill(String(seq))
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

  it('shows in the place of the request which template failed, and why, at a change of the list', async () => {
    const seq = await logged('status_changed', 'it moved on')
    // From here on its row stays as it is, and so does what is opened there.
    await expect.poll(async () => (await outboxFor(scene.db, 'notes')).find((row) => row.seq === seq)?.state).toBe('dead')
    await person.goto('/destinations/notes?state=any')
    await page.getByRole('button', { name: `Request and answer of change ${seq}` }).click()
    const dialog = page.getByRole('dialog', { name: `Change ${seq}: request and answer` })
    await dialog.getByRole('button', { name: 'Preview request' }).click()
    const told = await dialog.getByRole('list', { name: 'Requests to notes' }).getByRole('alert').innerText()
    expect(told).toContain('request.body')
    expect(told).toContain('no kind of note for it')
    await page.keyboard.press('Escape')
  })

  it('shows the newest changes of a submission that is found by its insured', async () => {
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
