import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { writeInterfaceDrift } from '../../src/store/upkeep/interface-drift.ts'
import { onSqlite } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { fireAlarm, openScene, playStory, type Scene } from './scene.ts'

/** What of tables reaches beyond the screen, at the right or at the left. */
const CUT = `[...document.querySelectorAll('main table :is(td, a, button, input)')]
  .filter((each) => each.offsetParent !== null && !each.closest('.unseen'))
  .filter((each) => each.getBoundingClientRect().right > innerWidth || each.getBoundingClientRect().left < 0)
  .map((each) => each.outerHTML.slice(0, 200))`
/** Columns and buttons of lists that are out of sight. A long name ends in an ellipsis, and is none. */
const OUT_OF_SIGHT = CUT.replace(':is(td, a, button, input)', ':is(td, button, input)')
/** What of lists a finger would miss. */
const SMALL = `[...document.querySelectorAll('main table.list td :is(a, button, input)')]
  .filter((each) => each.offsetParent !== null && each.getBoundingClientRect().height < 24)
  .map((each) => each.outerHTML.slice(0, 200))`

/** Makes the text of a row longer than its column. @returns how far its link reaches beyond that, in pixels. */
const BEYOND_COLUMN = `(() => {
  const link = document.querySelector('main td.wide > .row-link')
  link.firstChild.textContent = 'a long text '.repeat(40)
  return Math.max(0, link.getBoundingClientRect().right - link.closest('td').getBoundingClientRect().right)
})()`

interface Listed {
  readonly submission_id: string
  readonly insured_name: string
  readonly best_quote: { readonly total_cents: number } | null
}

/** A stranger sends something. */
async function refused({ serve, db }: Scene): Promise<void> {
  expect((await fetch(`${serve.receiver}/webhooks`, { method: 'POST', body: '{}' })).status).toBe(401)
  await expect.poll(async () => (await db.read.sql.selectFrom('sync_rejected').select('reason').execute()).length).toBe(1)
}

/** What a hostile sender puts into every text that it can. */
const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> \u202Eevil\u202C \u001b[31mred ${'שלום'} 🎉`

describe.each(onSqlite)('what the console shows, on $name', (database) => {
  let browser: Browser
  let scene: Scene
  let person: Person
  let page: Page

  beforeAll(async () => {
    browser = await launchBrowser()
    scene = await openScene(database)
    await playStory(scene)
    person = await Person.open(browser, scene)
    page = person.page
    await person.signIn('admin')
  })

  afterAll(async () => {
    await person.close()
    await browser.close()
    await scene.close()
  })

  const listed = async () => (await scene.api<{ items: Listed[] }>('/submissions?limit=200')).items

  it('says first what the overview judges', async () => {
    await person.goto('/')
    await expect.poll(async () => (await person.heading()) === (await scene.api<{ sentence: string }>('/overview')).sentence).toBe(true)
    expect(await person.heading()).toMatch(/^(Complete and fresh|Catching up|Needs attention)/)
    expect(await page.title()).toBe(`${await person.heading()} · submission-mirror`)
    for (const landmark of ['banner', 'main'] as const) expect(await page.getByRole(landmark).count()).toBe(1)
    await page.getByRole('heading', { name: 'Needs you' }).waitFor()
    for (const chart of ['Deliveries', 'Lost webhooks', 'Delay', 'Requests to the service']) {
      await page.locator('figure').filter({ hasText: chart }).first().waitFor()
    }
  })

  it('lists the submissions of the database, and finds, sorts and opens them', async () => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Submissions' }).click()
    const table = page.getByRole('table', { name: 'Submissions' })
    const stored = await scene.db.read.sql.selectFrom('submissions').select(['insured_name', 'submission_id']).execute()
    const links = table.getByRole('row').getByRole('link')
    await expect.poll(() => links.count()).toBe(stored.length)
    const names = stored.map(({ insured_name }) => insured_name ?? '')
    expect((await links.allInnerTexts()).sort()).toEqual(names.sort())
    await table.getByRole('button', { name: 'Insured' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('?sort=name')
    await expect.poll(async () => (await links.allInnerTexts())[0]?.toLowerCase()).toBe(names.map((name) => name.toLowerCase()).sort()[0])
    const [first] = await listed()
    const word = first?.insured_name.split(' ')[0] ?? ''
    await page.getByLabel('Search submissions').fill(word)
    await expect.poll(async () => (await links.allInnerTexts()).every((name) => name.includes(word))).toBe(true)
    await links
      .filter({ hasText: first?.insured_name ?? '' })
      .first()
      .click()
    await expect.poll(() => person.heading()).toBe(first?.insured_name)
    await page.reload()
    expect(await person.heading()).toBe(first?.insured_name)
  })

  it('shows a submission with its lanes, its best quote, and its whole story', async () => {
    const item = (await listed()).find(({ best_quote }) => best_quote !== null)
    if (!item?.best_quote) throw new Error('nothing was quoted')
    const { submission_id: id } = item
    await person.goto(`/submissions/default/${id}`)
    expect(await person.heading()).toBe(item.insured_name)
    for (const name of ['Lanes', 'Timeline', 'Outstanding', 'Documents', 'Deliveries to destinations']) {
      await page.getByRole('region', { name, exact: true }).waitFor()
    }
    const { sql } = scene.db.read
    const lanes = await sql.selectFrom('lanes').select('market_name').where('submission_id', '=', id).where('gone_at', 'is', null).execute()
    const board = page.getByRole('region', { name: 'Lanes', exact: true })
    await expect.poll(() => board.locator('.lane').count()).toBe(lanes.length)
    for (const { market_name } of lanes) expect(await board.innerText()).toContain(market_name ?? '')
    const price = new Intl.NumberFormat('en-US', {
      style: 'currency',
      currency: 'USD',
      trailingZeroDisplay: 'stripIfInteger',
    } as Intl.NumberFormatOptions)
    expect(await board.innerText()).toContain(price.format(item.best_quote.total_cents / 100))
    const events = await sql.selectFrom('market_events').select('event_id').where('submission_id', '=', id).execute()
    const messages = await sql.selectFrom('thread_messages').select('message_id').where('submission_id', '=', id).execute()
    const entries = page.getByRole('region', { name: 'Timeline' }).locator('.entry')
    await expect.poll(() => entries.count()).toBe(Math.min(50, events.length + messages.length))
  })

  it('shows since when the service leaves lanes and requirements out of its answers', async () => {
    const [{ submission_id: id = '' } = {}] = (await listed()).filter(({ best_quote }) => best_quote !== null)
    const note = page.getByText("Missing from the service's last answer. Last read:")
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('region', { name: 'Lanes', exact: true }).locator('.lane').first().waitFor()
    expect(await note.count()).toBe(0)
    scene.sandbox.setRail('default', id, { available: false })
    // Lanes, requirements, their programs; the history, where there is one.
    await expect.poll(() => note.count()).toBeGreaterThanOrEqual(3)
    scene.sandbox.setRail('default', id, { available: true })
    await expect.poll(() => note.count()).toBe(0)
  })

  it('tells in the timeline of a webhook that was lost', async () => {
    const { sandbox } = scene
    const [id = ''] = sandbox.submissionIds('default')
    sandbox.faults.set([{ kind: 'lose' }])
    const { id: eventId } = sandbox.addEvent('default', id, { type: 'status_changed', detail: 'known only by asking' })
    await expect
      .poll(
        async () =>
          (await scene.db.read.sql.selectFrom('market_events').select('first_seen_via').where('event_id', '=', eventId).execute())[0]
            ?.first_seen_via,
      )
      .toMatch(/poll|replay/)
    sandbox.faults.set([])
    await person.goto(`/submissions/default/${id}`)
    const entry = page.getByRole('region', { name: 'Timeline' }).locator('.entry').filter({ hasText: 'known only by asking' })
    await entry.waitFor()
    expect(await entry.innerText()).toMatch(/found by polling/)
    expect(await entry.innerText()).not.toMatch(/received by webhook/)
    const { items } = await scene.api<{ items: { record_id: string; insured_name: string }[] }>('/found-without-webhook?limit=50')
    const found = items.find(({ record_id }) => record_id === eventId)
    await person.goto('/')
    const row = page.getByRole('table', { name: 'Webhooks lost or late' }).getByRole('row').filter({ hasText: 'status changed' }).first()
    await row.waitFor()
    expect(await row.innerText()).toMatch(/late\s+by polling( \(full re-read\))?, .+ later/)
    await row.getByRole('link', { name: found?.insured_name ?? 'none' }).waitFor()
  })

  it('shows what came, what became of it, and who it went to', async () => {
    const { items } = await scene.api<{ items: { inbox_id: number; delivery_id: string; submission_id: string }[] }>('/inbox?limit=1')
    const [newest] = items
    if (!newest) throw new Error('nothing was delivered')
    await person.goto('/deliveries')
    await page.getByRole('table', { name: 'Deliveries' }).getByTitle(newest.delivery_id, { exact: true }).waitFor()
    for (const name of ['All', 'Dead', 'Rejected']) await page.getByRole('tab', { name }).waitFor()
    await person.goto(`/deliveries/${newest.inbox_id}`)
    await page.getByText(`"${newest.submission_id}"`).first().waitFor()
    await page.getByText('svix-id').waitFor()
    await page.getByRole('tab', { name: 'Rejected' }).click()
    await page.getByText('Nothing was rejected').waitFor()
    await person.goto('/destinations')
    for (const name of ['agency', 'clients']) await page.getByRole('table', { name: 'Destinations' }).getByRole('link', { name }).waitFor()
  })

  it('counts on tabs and filters, says what reached the AMS, and hands out what is filtered as CSV', async () => {
    const { items: counts } = await scene.api<{ items: { stage: string; count: number }[] }>('/submissions/counts')
    const quoted = counts.find(({ stage }) => stage === 'quoted')?.count ?? 0
    expect(quoted).toBeGreaterThan(0)
    await person.goto('/submissions')
    const table = page.getByRole('table', { name: 'Submissions' })
    await table.getByRole('columnheader', { name: 'Destinations' }).waitFor()
    // One of the two destinations waits for clients.
    await table
      .getByText(/^\d+ unmapped$/)
      .first()
      .waitFor()
    await page.getByRole('option', { name: `quoted (${quoted})` }).waitFor({ state: 'attached' })
    await page.getByRole('combobox', { name: 'Status' }).selectOption('quoted')
    await page.waitForURL(/stage=quoted/)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Submissions as CSV' }).click()])
    expect(download.suggestedFilename()).toMatch(/^submission-.*\.csv$/)
    const [heading, ...rows] = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
    expect(heading).toMatch(/^"account","submission_id","insured_name"/)
    expect(rows).toHaveLength(quoted)
    await refused(scene)
    await person.goto('/deliveries')
    await page.getByRole('tab', { name: 'Rejected 1' }).waitFor()
    await page.getByRole('link', { name: 'Deliveries as CSV' }).waitFor()
    await scene.db.write('test', (tx) => tx.sql.deleteFrom('sync_rejected').execute())
  })

  it('shows hostile texts of the service as texts', async () => {
    const { sandbox } = scene
    const [, id = ''] = sandbox.submissionIds('default')
    sandbox.setFacts('default', id, { insured_name: HOSTILE })
    sandbox.addMessage('default', id, { subject: HOSTILE, body_text: `${HOSTILE}${'x'.repeat(10_000)}` })
    const inMirror = async () =>
      (await scene.db.read.sql.selectFrom('submissions').select('insured_name').where('submission_id', '=', id).execute())[0]?.insured_name
    await scene.api('/submissions/sync', { ids: [id] })
    await expect.poll(inMirror).toContain('<img src=x')
    for (const path of ['/submissions', `/submissions/default/${id}?kinds=message,event,change,push`]) {
      await person.goto(path)
      await page.getByText('<img src=x onerror=', { exact: false }).first().waitFor()
      expect(await page.locator('main img, main script').count()).toBe(0)
      expect(await page.title()).toMatch(/ · submission-mirror$/)
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
  })

  it('says so where there is nothing', async () => {
    for (const path of [
      '/nowhere',
      '/submissions/default/00000000-0000-4000-8000-000000000000',
      '/reconcile/none',
      '/destinations/nobody',
    ]) {
      await person.goto(path)
      await expect.poll(() => person.heading(), { message: path }).toBe('Not found')
    }
    await person.goto('/nowhere')
    await page.getByRole('link', { name: 'Back to the overview' }).click()
    await expect.poll(() => person.heading()).toMatch(/^(Complete|Catching|Needs)/)
  })

  it('shows on the page of operations when each credential and each webhook secret was used last, and no value', async () => {
    const { credentials, webhookSecret } = scene.sandbox.account('default')
    const { clientId = '', clientSecret = '' } = credentials[0] ?? {}
    const stored = scene.db.read.sql.selectFrom('sync_last_uses').select('kind').orderBy('kind')
    const kinds = async () => (await stored.execute()).map(({ kind }) => kind)
    await expect.poll(kinds).toEqual(['credential', 'webhook_secret'])
    await person.goto('/operations')
    const row = page.getByRole('table', { name: 'Accounts' }).getByRole('row').nth(1)
    await row.getByText(clientId).waitFor()
    expect(await row.innerText()).not.toContain('never')
    const text = await page.locator('main').innerText()
    for (const value of [clientSecret, webhookSecret]) expect(text).not.toContain(value)
  })

  it('says on the page of operations whether the service sends what nobody named', async () => {
    await person.goto('/operations')
    const section = page.getByRole('region', { name: 'API changes' })
    await section.getByText('Every answer is as the specification names it.').waitFor()
    const at = timeFromMs(Date.now())
    const seen = { account: 'default', resource: 'events', type: 'string', firstAt: at, lastAt: at, answers: 2 } as const
    await writeInterfaceDrift(scene.db, [{ ...seen, path: 'events[].region', kind: 'field' }])
    await page.reload()
    await section.getByRole('table').getByText('events[].region').waitFor()
  })

  it('fits a phone: nothing is cut, and whatever can be touched is large enough', async () => {
    const at = timeFromMs(Date.now())
    const times = { since: at, last_at: at, resolved_at: null, notified_at: null }
    const alarm = {
      name: 'disk_space',
      account: '',
      destination: '',
      severity: 'warning',
      state: 'firing',
      text: 'The disk fills. '.repeat(9),
    } as const
    await fireAlarm(scene.db, { ...alarm, ...times })
    const reader = await Person.open(browser, scene, { width: 390, height: 844 })
    const { page: phone } = reader
    await reader.signIn('admin')
    for (const view of [
      '/',
      '/submissions',
      '/documents?state=stored',
      '/deliveries',
      '/destinations',
      '/destinations/clients',
      '/reconcile',
      '/operations',
    ]) {
      await reader.goto(view)
      await phone.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => phone.locator('.loading').count()).toBe(0)
      expect(await phone.evaluate(CUT), view).toEqual([])
      expect(await phone.evaluate(SMALL), view).toEqual([])
    }
    await phone.getByRole('button', { name: 'Acknowledge disk space' }).waitFor()
    const { clientId = '' } = scene.sandbox.account('default').credentials[0] ?? {}
    await phone.getByRole('table', { name: 'Accounts' }).getByText(clientId).waitFor()
    await reader.goto('/destinations/clients')
    await phone.getByRole('button', { name: /^Map / }).first().waitFor()
    expect(await phone.evaluate(CUT)).toEqual([])
    await reader.close()
  })

  it('fits a list beside what was opened of it: no column and no button is out of sight', async () => {
    const reader = await Person.open(browser, scene, { width: 1280, height: 800 })
    await reader.signIn('operator')
    for (const view of ['/destinations/agency', '/destinations/clients?state=waiting', '/destinations/clients?state=unmapped']) {
      await reader.goto(view)
      await reader.page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => reader.page.locator('.loading').count()).toBe(0)
      await reader.page.getByRole('table').last().waitFor()
      expect(await reader.page.evaluate(OUT_OF_SIGHT), view).toEqual([])
    }
    await reader.close()
  })

  it('cuts the link of a row with its text, where another link stands beside it', async () => {
    const reader = await Person.open(browser, scene)
    await reader.signIn('viewer', '/deliveries')
    await reader.page.locator('main td.wide > .row-link').first().waitFor()
    expect(await reader.page.evaluate(BEYOND_COLUMN)).toBe(0)
    await reader.close()
  })

  // The page does not know its database: a theme for each is enough.
  it.each([database.name === 'sqlite' ? 'light' : 'dark'] as const)('has nothing that keeps people from reading it, %s', async (theme) => {
    const [item] = await listed()
    const { items } = await scene.api<{ items: { inbox_id: number }[] }>('/inbox?limit=1')
    const { items: runs } = await scene.api<{ items: { run_id: string }[] }>('/reconcile-runs')
    // A row with a remark of what went wrong, which lists may have at any time.
    const remark = { error: 'the database did not answer' }
    await scene.db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_inbox')
        .set(remark)
        .where('inbox_id', '=', items[0]?.inbox_id ?? 0)
        .execute(),
    )
    const views = [
      '/',
      '/submissions',
      `/submissions/default/${item?.submission_id}`,
      '/deliveries',
      `/deliveries/${items[0]?.inbox_id}`,
      '/deliveries?tab=rejected',
      '/documents?state=stored',
      '/destinations',
      '/destinations/agency',
      '/reconcile',
      `/reconcile/${runs[0]?.run_id}`,
      '/operations',
      '/nowhere',
    ]
    const reader = await Person.open(browser, scene, { theme })
    await reader.signIn('admin')
    for (const view of views) {
      await reader.goto(view)
      await reader.page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => reader.page.locator('.loading').count()).toBe(0)
      expect(await reader.violations(), `${view}, ${theme}`).toEqual([])
    }
    await reader.close()
  })
})
