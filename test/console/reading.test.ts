import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { writeApiChanges } from '../../src/store/upkeep/api-changes.ts'
import { onSqlite } from '../tools/databases.ts'
import { type Stage, setStage, visit } from './browser.ts'
import { fireDiskAlarm } from './scene.ts'

/** Parts of tables beyond the edges of the screen. */
const CUT = `[...document.querySelectorAll('main table :is(td, a, button, input)')]
  .filter((each) => each.offsetParent !== null && !each.closest('.unseen'))
  .filter((each) => each.getBoundingClientRect().right > innerWidth || each.getBoundingClientRect().left < 0)
  .map((each) => each.outerHTML.slice(0, 200))`
/** Columns and buttons beyond the edges of the screen. Links are excluded, because a long name ends in an ellipsis. */
const OUT_OF_SIGHT = CUT.replace(':is(td, a, button, input)', ':is(td, button, input)')
/** Controls of lists that are too small to touch. */
const SMALL = `[...document.querySelectorAll('main table.list td :is(a, button, input)')]
  .filter((each) => each.offsetParent !== null && each.getBoundingClientRect().height < 24)
  .map((each) => each.outerHTML.slice(0, 200))`

/** Makes the text of a row longer than its column. @returns the overhang of its link in pixels. */
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

const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> \u202Eevil\u202C \u001b[31mred ${'שלום'} 🎉`

describe.each(onSqlite)('console pages, on $name', (database) => {
  let { browser, scene, person, page } = {} as Stage

  setStage((stage) => ({ browser, scene, person, page } = stage), { database, role: 'admin' })

  const listed = async () => (await scene.api<{ items: Listed[] }>('/submissions?limit=200')).items

  it('starts with the verdict of the overview', async () => {
    await person.goto('/')
    await expect.poll(async () => (await person.heading()) === (await scene.api<{ sentence: string }>('/overview')).sentence).toBe(true)
    // On a busy host, the first verdict may be missing.
    await expect.poll(() => person.heading()).toMatch(/^(Complete and fresh|Catching up|Needs attention)/)
    expect(await page.title()).toBe(`${await person.heading()} · submission-mirror`)
    for (const landmark of ['banner', 'main'] as const) expect(await page.getByRole(landmark).count()).toBe(1)
    await page.getByRole('heading', { name: 'Needs attention', exact: true }).waitFor()
    for (const chart of ['Deliveries', 'Lost webhooks', 'Delay', 'Requests to the service']) {
      await page.locator('figure').filter({ hasText: chart }).first().waitFor()
    }
  })

  it('lists, searches, sorts and opens submissions', async () => {
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
    const link = links.filter({ hasText: first?.insured_name ?? '' }).first()
    await link.click()
    await expect.poll(() => person.heading()).toBe(first?.insured_name)
    await page.reload()
    expect(await person.heading()).toBe(first?.insured_name)
  })

  it('shows the lanes, the best quote and the timeline of a submission', async () => {
    const item = (await listed()).find(({ best_quote }) => best_quote !== null)
    if (!item?.best_quote) throw new Error('nothing was quoted')
    const { submission_id: id } = item
    await person.goto(`/submissions/default/${id}`)
    expect(await person.heading()).toBe(item.insured_name)
    for (const name of ['Lanes', 'Timeline', 'Open items', 'Documents', 'Pushes to destinations']) {
      await page.getByRole('region', { name, exact: true }).waitFor()
    }
    const { sql } = scene.db.read
    const lanes = await sql.selectFrom('lanes').select('market_name').where('submission_id', '=', id).where('gone_at', 'is', null).execute()
    const board = page.getByRole('region', { name: 'Lanes', exact: true })
    await expect.poll(() => board.locator('.lane').count()).toBe(lanes.length)
    for (const { market_name } of lanes) expect(await board.innerText()).toContain(market_name ?? '')
    const dollars = { style: 'currency', currency: 'USD', trailingZeroDisplay: 'stripIfInteger' }
    const price = new Intl.NumberFormat('en-US', dollars as Intl.NumberFormatOptions)
    expect(await board.innerText()).toContain(price.format(item.best_quote.total_cents / 100))
    const events = await sql.selectFrom('market_events').select('event_id').where('submission_id', '=', id).execute()
    const messages = await sql.selectFrom('thread_messages').select('message_id').where('submission_id', '=', id).execute()
    const entries = page.getByRole('region', { name: 'Timeline' }).locator('.entry')
    await expect.poll(() => entries.count()).toBe(Math.min(50, events.length + messages.length))
  })

  it('shows the last read of parts that the service leaves out', async () => {
    const [{ submission_id: id = '' } = {}] = (await listed()).filter(({ best_quote }) => best_quote !== null)
    const note = page.getByText('The last answer of the service lacked this data. Last read:')
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('region', { name: 'Lanes', exact: true }).locator('.lane').first().waitFor()
    expect(await note.count()).toBe(0)
    scene.sandbox.setRail('default', id, { available: false })
    // Lanes, requirements and their programs; perhaps the quote history.
    await expect.poll(() => note.count()).toBeGreaterThanOrEqual(3)
    scene.sandbox.setRail('default', id, { available: true })
    await expect.poll(() => note.count()).toBe(0)
  })

  it('shows a lost webhook in the timeline', async () => {
    const { sandbox } = scene
    const [id = ''] = sandbox.submissionIds('default')
    sandbox.faults.set([{ kind: 'lose' }])
    const { id: eventId } = sandbox.addEvent('default', id, { type: 'status_changed', detail: 'known only by asking' })
    const stored = scene.db.read.sql.selectFrom('market_events').select('first_seen_via').where('event_id', '=', eventId)
    await expect.poll(async () => (await stored.execute())[0]?.first_seen_via).toMatch(/poll|replay/)
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
    expect(await row.innerText()).toMatch(/late\s+by polling( \(full re-read\))?, .+ after it happened/)
    await row.getByRole('link', { name: found?.insured_name ?? 'none' }).waitFor()
  })

  it('shows deliveries, rejected deliveries and destinations', async () => {
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
    await page.getByText('No rejected deliveries.').waitFor()
    await person.goto('/destinations')
    for (const name of ['agency', 'clients']) await page.getByRole('table', { name: 'Destinations' }).getByRole('link', { name }).waitFor()
  })

  it('shows counts in tabs and filters, and downloads a filtered list as CSV', async () => {
    const { items: counts } = await scene.api<{ items: { stage: string; count: number }[] }>('/submissions/counts')
    const quoted = counts.find(({ stage }) => stage === 'quoted')?.count ?? 0
    expect(quoted).toBeGreaterThan(0)
    await person.goto('/submissions')
    const table = page.getByRole('table', { name: 'Submissions' })
    await table.getByRole('columnheader', { name: 'Destinations' }).waitFor()
    // One of the two destinations requires clients.
    const unmapped = table.getByText(/^\d+ unmapped$/).first()
    await unmapped.waitFor()
    await page.getByRole('option', { name: `quoted (${quoted})` }).waitFor({ state: 'attached' })
    await page.getByRole('combobox', { name: 'Status' }).selectOption('quoted')
    await page.waitForURL(/stage=quoted/)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Submissions as CSV' }).click()])
    expect(download.suggestedFilename()).toMatch(/^submission-.*\.csv$/)
    const csv = readFileSync(await download.path(), 'utf8').trim()
    const [heading, ...rows] = csv.split('\r\n')
    expect(heading).toMatch(/^"account","submission_id","insured_name"/)
    expect(rows).toHaveLength(quoted)
    expect((await fetch(`${scene.serve.receiver}/webhooks`, { method: 'POST', body: '{}' })).status).toBe(401)
    const rejected = scene.db.read.sql.selectFrom('sync_rejected').select('reason')
    await expect.poll(async () => (await rejected.execute()).length).toBe(1)
    await person.goto('/deliveries')
    await page.getByRole('tab', { name: 'Rejected 1' }).waitFor()
    await page.getByRole('link', { name: 'Deliveries as CSV' }).waitFor()
    await scene.db.write('test', (tx) => tx.sql.deleteFrom('sync_rejected').execute())
  })

  it('shows hostile texts of the service as plain text', async () => {
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

  it('shows "Not found" for unknown addresses', async () => {
    const unknown = '/submissions/default/00000000-0000-4000-8000-000000000000'
    for (const path of ['/nowhere', unknown, '/reconcile/none', '/destinations/nobody']) {
      await person.goto(path)
      await expect.poll(() => person.heading(), { message: path }).toBe('Not found')
    }
    await person.goto('/nowhere')
    await page.getByRole('link', { name: 'Back to the overview' }).click()
    await expect.poll(() => person.heading()).toMatch(/^(Complete|Catching|Needs)/)
  })

  it('shows the last use of credentials and webhook secrets, without their values', async () => {
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

  it('lists API changes', async () => {
    await person.goto('/operations')
    const section = page.getByRole('region', { name: 'API changes' })
    await section.getByText('No API changes.').waitFor()
    const at = timeFromMs(Date.now())
    const seen = { account: 'default', resource: 'events', type: 'string', firstAt: at, lastAt: at, answers: 2 } as const
    await writeApiChanges(scene.db, [{ ...seen, path: 'events[].region', kind: 'field' }])
    await page.reload()
    await section.getByRole('table').getByText('events[].region').waitFor()
  })

  it('fits a phone: nothing is cut off, and controls are large enough to touch', async () => {
    await fireDiskAlarm(scene.db, 'warning', 'The disk fills. '.repeat(9))
    const { person: reader, page: phone } = await visit({ browser, scene }, { role: 'admin', width: 390, height: 844 })
    const lists = ['/submissions', '/documents?state=stored', '/deliveries', '/destinations', '/destinations/clients']
    for (const view of ['/', ...lists, '/reconcile', '/operations']) {
      await reader.goto(view)
      await phone.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => phone.locator('.loading').count()).toBe(0)
      expect(await phone.evaluate(CUT), view).toEqual([])
      expect(await phone.evaluate(SMALL), view).toEqual([])
    }
    await phone.getByRole('button', { name: 'Acknowledge disk nearly full' }).waitFor()
    const { clientId = '' } = scene.sandbox.account('default').credentials[0] ?? {}
    await phone.getByRole('table', { name: 'Accounts' }).getByText(clientId).waitFor()
    await reader.goto('/destinations/clients')
    await phone.getByRole('button', { name: /^Map / }).first().waitFor()
    expect(await phone.evaluate(CUT)).toEqual([])
  })

  it('fits a list next to an open item: no column or button is cut off', async () => {
    const { person: reader } = await visit({ browser, scene }, { width: 1280, height: 800, role: 'operator' })
    for (const view of ['/destinations/agency', '/destinations/clients?state=waiting', '/destinations/clients?state=unmapped']) {
      await reader.goto(view)
      await reader.page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => reader.page.locator('.loading').count()).toBe(0)
      await reader.page.getByRole('table').last().waitFor()
      expect(await reader.page.evaluate(OUT_OF_SIGHT), view).toEqual([])
    }
  })

  it("cuts the link of a row with its text, so that it doesn't cover the next link", async () => {
    const { person: reader } = await visit({ browser, scene })
    await reader.signIn('viewer', '/deliveries')
    await reader.page.locator('main td.wide > .row-link').first().waitFor()
    expect(await reader.page.evaluate(BEYOND_COLUMN)).toBe(0)
  })

  // The page doesn't depend on the database, so each database tests one theme.
  it.each([database.name === 'sqlite' ? 'light' : 'dark'] as const)('has no serious accessibility violations, %s', async (theme) => {
    const [item] = await listed()
    const { items } = await scene.api<{ items: { inbox_id: number }[] }>('/inbox?limit=1')
    const { items: runs } = await scene.api<{ items: { run_id: string }[] }>('/reconcile-runs')
    const id = items[0]?.inbox_id ?? 0
    const failed = { error: 'the database did not answer' }
    await scene.db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set(failed).where('inbox_id', '=', id).execute())
    const views = [
      ...['/', '/submissions', `/submissions/default/${item?.submission_id}`, '/deliveries', `/deliveries/${items[0]?.inbox_id}`],
      ...['/deliveries?tab=rejected', '/documents?state=stored', '/destinations', '/destinations/agency'],
      ...['/reconcile', `/reconcile/${runs[0]?.run_id}`, '/operations', '/nowhere'],
    ]
    const { person: reader } = await visit({ browser, scene }, { theme, role: 'admin' })
    for (const view of views) {
      await reader.goto(view)
      await reader.page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => reader.page.locator('.loading').count()).toBe(0)
      expect(await reader.violations(), `${view}, ${theme}`).toEqual([])
    }
  })
})
