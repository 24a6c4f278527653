import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { onSqlite } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, type Scene } from './scene.ts'

describe.each(onSqlite)('what comes late, or is in sight no more, on $name', (database) => {
  let browser: Browser
  let scene: Scene
  let person: Person
  let page: Page
  let ids: readonly string[]

  beforeAll(async () => {
    browser = await launchBrowser()
    scene = await openScene(database)
    scene.sandbox.faults.set([])
    scene.agency.status = 400
    ids = scene.sandbox.submissionIds('default')
    for (const id of ids.slice(0, 2)) {
      scene.sandbox.addEvent('default', id, { type: 'status_changed', detail: 'told' })
      scene.sandbox.addMessage('default', id, { body_text: 'told' })
    }
    await until('changes are dead', async () => ((await scene.destination('agency'))?.dead ?? 0) > 1)
    await until('deliveries came', async () => (await scene.api<{ items: unknown[] }>('/inbox')).items.length > 3)
    person = await Person.open(browser, scene)
    page = person.page
    await person.signIn('operator')
  })

  beforeEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }))

  afterAll(async () => {
    await person.close()
    await browser.close()
    await scene.close()
  })

  /** Holds the requests of an address. @returns the first of them, once it comes. */
  const hold = async (address: RegExp) => {
    const first = Promise.withResolvers<Route>()
    await page.route(address, (route) => first.resolve(route))
    return { first: first.promise }
  }
  const name = async (id: string) => {
    const { items } = await scene.api<{ items: { insured_name: string; submission_id: string }[] }>('/submissions')
    return items.find(({ submission_id }) => submission_id === id)?.insured_name ?? ''
  }
  const find = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await page.getByRole('group', { name: 'Found' }).getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
  }

  it('resends what the form says, not what was counted for an earlier choice', async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Resend…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend changes to agency' })
    const { first } = await hold(/\/resend$/)
    await dialog.getByLabel('Changes by number').fill('1-4')
    const count = dialog.getByRole('button', { name: 'Count the changes' })
    await count.click()
    const counted = await first
    await dialog.getByLabel('Changes by number').fill('1-2')
    const answered = page.waitForResponse(/\/resend$/)
    await counted.continue()
    await (await answered).finished()
    await expect.poll(() => count.isEnabled()).toBe(true)
    expect(await dialog.getByRole('button', { name: /^Resend/ }).isDisabled()).toBe(true)
  })

  it('gives up a change only when asked whether it may, by its name', async () => {
    const { items } = await scene.api<{ items: { seq: number; message_id: string }[] }>('/outbox?destination=agency&state=dead&limit=1')
    const { seq, message_id } = items[0] ?? { seq: 0, message_id: '' }
    await person.goto(`/destinations/agency?state=dead&text=${message_id}`)
    const skips = async () => (await listActions(scene.db.read, { action: 'outbox.skip' }, 5)).length
    const skip = page.getByRole('button', { name: `Skip change ${seq}` })
    await skip.click()
    const dialog = page.getByRole('dialog', { name: `Skip change ${seq}?` })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await skips()).toBe(0)
    await skip.click()
    await dialog.getByRole('button', { name: 'Skip the change' }).click()
    await person.says(/1 change given up/)
    expect(await skips()).toBe(1)
  })

  it('closes a dialog with the submission that it is about', async () => {
    const [one = '', other = ''] = ids
    await person.goto(`/submissions/default/${one}`)
    await page.getByRole('heading', { level: 1, name: await name(one) }).waitFor()
    await find(await name(other))
    await page.getByRole('heading', { level: 1, name: await name(other) }).waitFor()
    await page.locator('summary.button').filter({ hasText: 'More' }).click()
    await page.getByRole('button', { name: 'Map to client…' }).click()
    await page.getByRole('textbox', { name: 'Client' }).fill('C-2001')
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: await name(one) }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('keeps a question open while the number that it is about grows', async () => {
    await person.goto('/')
    const row = page.getByRole('listitem').filter({ hasText: 'for destination agency' })
    await row.getByRole('button', { name: 'Retry changes' }).click()
    const dialog = page.getByRole('dialog', { name: /^Retry \d+ changes?\?$/ })
    await dialog.waitFor()
    const [id = ''] = ids
    const count = () => row.locator('.need-count').innerText()
    const before = await count()
    scene.sandbox.addEvent('default', ids[2] ?? id, { type: 'status_changed', detail: 'one more' })
    await expect.poll(count).not.toBe(before)
    expect(await dialog.isVisible()).toBe(true)
  })

  it('replays only what is selected in the list that is shown', async () => {
    await person.goto('/deliveries')
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('checkbox').first().check()
    const replay = page.getByRole('button', { name: 'Replay selected' })
    expect(await replay.isEnabled()).toBe(true)
    await page.getByLabel('Search deliveries').fill('nothing is called that')
    await page.getByText('No delivery fits these filters.').waitFor()
    expect(await replay.isDisabled()).toBe(true)
  })

  it('says that nothing fits only when that was answered', async () => {
    await person.goto('/deliveries?text=zzz')
    await page.getByText('No delivery fits these filters.').waitFor()
    const { first } = await hold(/\/api\/v1\/inbox\?(?!.*text=)/)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    const asked = await first
    expect(await page.getByText(/^No delivery/).count()).toBe(0)
    await asked.continue()
    await page.getByRole('table', { name: 'Deliveries' }).waitFor()
  })

  it('does not say of a run that was stopped that mirror and service agree', async () => {
    await page.route(/\/reconcile-runs\/[^/]+$/, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), state: 'stopped', submissions_done: 0 } })
    })
    await person.goto('/reconcile')
    await page.getByLabel('Dry run').check()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/\/reconcile\/[0-9a-f-]{36}$/)
    await page.getByText('Nothing was found in what it looked at.').waitFor()
  })

  it('leaves a line of the palette chosen when the database answers late', async () => {
    await person.goto('/')
    await page.getByRole('button', { name: /Find or do/ }).waitFor()
    const { first } = await hold(/\/search\?q=d/)
    const dialog = page.getByRole('dialog', { name: 'Command palette' })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('d')
    const asked = await first
    await dialog.getByRole('option', { name: 'Destinations', exact: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = await dialog.getByRole('option', { selected: true }).innerText()
    await asked.continue()
    await dialog.getByRole('group', { name: 'Found' }).waitFor()
    expect(await dialog.getByRole('option', { selected: true }).innerText()).toBe(chosen)
    await page.keyboard.press('Escape')
  })

  it('gives the focus back after a dialog, and leaves the page for no key of a menu', async () => {
    const [id = ''] = ids
    await person.goto('/destinations/agency')
    const resend = page.getByRole('button', { name: 'Resend…' })
    await resend.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Resend changes to agency' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(await resend.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('button', { name: /Signed in as otto/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('menuitem', { name: 'Sign out' }).count()).toBe(0)
    expect(page.url()).toContain(`/submissions/default/${id}`)
  })

  it('tells when signing out failed', async () => {
    await page.route(/\/api\/v1\/session$/, (route) =>
      route.request().method() === 'DELETE' ? route.fulfill({ status: 503, json: { error: { message: 'not now' } } }) : route.continue(),
    )
    await page.getByRole('button', { name: /Signed in as otto/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await person.says(/^You are still signed in/)
  })
})
