import type { Route } from 'playwright-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { onSqlite } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { type Stage, setStage } from './browser.ts'

describe.each(onSqlite)('late answers and changed pages, on $name', (database) => {
  let { scene, person, page } = {} as Stage
  let ids: readonly string[]

  setStage((stage) => ({ scene, person, page } = stage), {
    database,
    role: 'operator',
    prepare: async ({ sandbox, agency, api, destination }) => {
      sandbox.faults.set([])
      agency.status = 400
      ids = sandbox.submissionIds('default')
      for (const id of ids.slice(0, 2)) {
        sandbox.addEvent('default', id, { type: 'status_changed', detail: 'new' })
        sandbox.addMessage('default', id, { body_text: 'new' })
      }
      await until('changes are dead', async () => ((await destination('agency'))?.dead ?? 0) > 1)
      await until('deliveries came', async () => (await api<{ items: unknown[] }>('/inbox')).items.length > 3)
    },
  })

  beforeEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }))

  /** Holds requests by address. `first` resolves to the first one. */
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
    await page.getByRole('group', { name: 'Search results' }).getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
  }

  it('keeps a question open when its issue disappears from the overview', async () => {
    await person.goto('/')
    await page.getByRole('button', { name: 'Retry changes' }).click()
    const question = page.getByRole('dialog', { name: /^Retry \d+ changes\?$/ })
    await question.waitFor()
    await page.route('**/api/v1/overview', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), issues: [] } })
    })
    await page.getByText('No action required.').waitFor()
    expect(await question.isVisible()).toBe(true)
  })

  it("doesn't resend an earlier choice that was counted late", async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Resend…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend changes to agency' })
    const { first } = await hold(/\/resend$/)
    await dialog.getByLabel('Change numbers').fill('1-4')
    const count = dialog.getByRole('button', { name: 'Count changes' })
    await count.click()
    const counted = await first
    await dialog.getByLabel('Change numbers').fill('1-2')
    const answered = page.waitForResponse(/\/resend$/)
    await counted.continue()
    await (await answered).finished()
    await expect.poll(() => count.isEnabled()).toBe(true)
    expect(await dialog.getByRole('button', { name: /^Resend/ }).isDisabled()).toBe(true)
  })

  it('skips a change only after a confirmation that names it', async () => {
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
    await dialog.getByRole('button', { name: 'Skip change' }).click()
    await person.says(/1 change skipped/)
    expect(await skips()).toBe(1)
  })

  it('closes a dialog with its submission', async () => {
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

  it('keeps a question open while its count grows', async () => {
    await person.goto('/')
    const row = page.getByRole('listitem').filter({ hasText: 'for destination agency' })
    await row.getByRole('button', { name: 'Retry changes' }).click()
    const dialog = page.getByRole('dialog', { name: /^Retry \d+ changes?\?$/ })
    await dialog.waitFor()
    const [id = ''] = ids
    const count = () => row.locator('.issue-what').innerText()
    const before = await count()
    scene.sandbox.addEvent('default', ids[2] ?? id, { type: 'status_changed', detail: 'one more' })
    await expect.poll(count).not.toBe(before)
    expect(await dialog.isVisible()).toBe(true)
  })

  it('clears the selection when the filters change', async () => {
    await person.goto('/deliveries')
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('checkbox').first().check()
    const replay = page.getByRole('button', { name: 'Replay selected' })
    expect(await replay.isEnabled()).toBe(true)
    await page.getByLabel('Search deliveries').fill('nothing is called that')
    await page.getByText('No deliveries match these filters.').waitFor()
    expect(await replay.isDisabled()).toBe(true)
  })

  it('shows the empty state only after the answer', async () => {
    await person.goto('/deliveries?text=zzz')
    await page.getByText('No deliveries match these filters.').waitFor()
    const { first } = await hold(/\/api\/v1\/inbox\?(?!.*text=)/)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    const asked = await first
    expect(await page.getByText(/^No deliveries/).count()).toBe(0)
    await asked.continue()
    await page.getByRole('table', { name: 'Deliveries' }).waitFor()
  })

  it('refetches its data, but not in a hidden tab', async () => {
    await page.clock.install()
    await person.goto('/deliveries')
    await page.getByRole('table', { name: 'Deliveries' }).waitFor()
    const seconds = () => page.clock.runFor(2_000)
    const lists: string[] = []
    page.on('request', (request) => void (request.url().includes('/inbox?') && lists.push(request.url())))
    const turn = (state: 'hidden' | 'visible') =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        dispatchEvent(new Event('visibilitychange'))`)
    await seconds()
    await expect.poll(() => lists.length).toBe(1)
    await turn('hidden')
    await page.clock.runFor(60_000)
    await page.evaluate("fetch('/api/v1/session').then((answer) => answer.text())")
    expect(lists).toHaveLength(1)
    await turn('visible')
    await seconds()
    await expect.poll(() => lists.length).toBeGreaterThan(1)
  })

  it("doesn't claim that a stopped run found the mirror correct", async () => {
    await page.route(/\/reconcile-runs\/[^/]+$/, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), state: 'stopped', submissions_done: 0 } })
    })
    await person.goto('/reconcile')
    await page.getByLabel('Dry run').check()
    await page.getByRole('button', { name: 'Start run', exact: true }).click()
    await page.waitForURL(/\/reconcile\/[0-9a-f-]{36}$/)
    await page.getByText('No differences in the submissions that were checked.').waitFor()
  })

  it('keeps the selected item of the palette when search results arrive late', async () => {
    await person.goto('/')
    await page.getByRole('button', { name: /Search and actions/ }).waitFor()
    const { first } = await hold(/\/search\?q=d/)
    const dialog = page.getByRole('dialog', { name: 'Command palette' })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('d')
    const asked = await first
    await dialog.getByRole('option', { name: 'Destinations', exact: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = await dialog.getByRole('option', { selected: true }).innerText()
    await asked.continue()
    await dialog.getByRole('group', { name: 'Search results' }).waitFor()
    expect(await dialog.getByRole('option', { selected: true }).innerText()).toBe(chosen)
    await page.keyboard.press('Escape')
  })

  it('returns the focus after a dialog, and stays on the page when Escape closes a menu', async () => {
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
    await page.getByLabel(/Signed in as otto/).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    expect(page.url()).toContain(`/submissions/default/${id}`)
  })

  it('reports a failed sign-out', async () => {
    await page.route(/\/api\/v1\/session$/, (route) =>
      route.request().method() === 'DELETE' ? route.fulfill({ status: 503, json: { error: { message: 'not now' } } }) : route.continue(),
    )
    await page.getByLabel(/Signed in as otto/).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await person.says(/^You are still signed in/)
  })
})
