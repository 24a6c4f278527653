import { sql } from 'kysely'
import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { listActions } from '../../src/store/operators/actions.ts'
import { unlistedHostText } from '../../src/upstream/http/elsewhere.ts'
import { sign } from '../receive/support.ts'
import { onSqlite } from '../tools/databases.ts'
import { type Stage, setStage } from './browser.ts'
import { failDocuments, fireDiskAlarm } from './scene.ts'

const isFocused = (field: Locator) => field.evaluate((element) => element === element.ownerDocument.activeElement)

describe.each(onSqlite)('console actions of an operator, on $name', (database) => {
  let { scene, person, page } = {} as Stage

  setStage((stage) => ({ scene, person, page } = stage), { database, role: 'operator' })

  const actions = async (action: string) => (await listActions(scene.db.read, { action, who: 'otto' }, 50)).length

  it('retries dead changes from the overview', async () => {
    scene.agency.status = 400
    scene.agency.body = '{"detail": "the client is closed"}'
    const [id = ''] = scene.sandbox.submissionIds('default')
    scene.sandbox.addEvent('default', id, { type: 'status_changed', detail: 'refused at first' })
    await expect.poll(async () => (await scene.destination('agency'))?.dead).toBeGreaterThan(0)
    scene.agency.status = 204
    scene.agency.body = ''
    await person.goto('/destinations/agency')
    // A change that waits for its next attempt has the same reason, in a row that disappears on delivery.
    const dead = page.getByRole('table', { name: 'Failures at agency' }).getByRole('row').filter({ hasText: 'dead' })
    const narrowed = page.waitForResponse(/\/api\/v1\/outbox\?.*reason=/)
    await dead.getByRole('link', { name: /^answered 400/ }).click()
    await page.waitForURL(/state=dead&reason=/)
    // The list must be filtered before a dialog is opened in it.
    await page.getByRole('button', { name: /^Reason: answered 400/ }).waitFor()
    await narrowed
    const note = page.getByRole('button', { name: /^answered 400/ }).first()
    await note.click()
    const whole = page.getByRole('dialog', { name: /: error$/ }).getByText('answered 400 (the client is closed)')
    await whole.waitFor()
    // A refetch of the list keeps the dialog open.
    for (const detail of ['one more', 'and another']) {
      const refetched = page.waitForResponse(/\/api\/v1\/outbox\?/)
      scene.sandbox.addEvent('default', id, { type: 'status_changed', detail })
      await refetched
    }
    expect(await whole.isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByLabel('Search changes for agency').fill('nothing is called that')
    await page.getByText('No changes match these filters.').waitFor()
    await person.goto('/destinations/agency')
    expect(await page.getByLabel('State', { exact: true }).inputValue()).toBe('dead')
    await person.goto('/')
    await page.getByRole('listitem').filter({ hasText: 'for destination agency' }).getByRole('button', { name: 'Retry changes' }).click()
    const n = (await scene.destination('agency'))?.dead ?? 0
    const deed = n === 1 ? 'Retry 1 change' : `Retry ${n} changes`
    const question = page.getByRole('dialog', { name: `${deed}?` })
    await question.getByText('answered 400 (the client is closed)').waitFor()
    await question.getByRole('button', { name: deed }).click()
    await person.says(/Changes queued for retry/)
    await expect.poll(async () => (await scene.destination('agency'))?.dead).toBe(0)
    await expect.poll(() => page.getByRole('button', { name: 'Retry changes' }).count()).toBe(0)
  })

  it('pauses, tests and resumes a destination, by mouse and by keys', async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await person.says(/agency is paused/)
    expect((await scene.destination('agency'))?.state).toBe('paused')
    await page.getByRole('button', { name: 'Resume', exact: true }).focus()
    await page.keyboard.press('Enter')
    await person.says(/agency resumed/)
    expect((await scene.destination('agency'))?.state).toBe('active')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await person.says(/\w/)
    await expect.poll(() => actions('destination.test')).toBe(1)
    await page.keyboard.press('Escape')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/destinations')
  })

  it('maps an unmapped submission to a client', async () => {
    await person.goto('/destinations/clients?state=unmapped')
    const waiting = page.getByRole('table', { name: 'Unmapped submissions at clients' })
    await waiting.getByRole('link').first().waitFor()
    const [first] = (await scene.api<{ items: { insured_name: string; submission_id: string }[] }>('/destinations/clients/unmapped')).items
    const { insured_name: insured, submission_id: id } = first ?? { insured_name: '', submission_id: '' }
    await page.getByLabel('Search unmapped submissions').fill(insured)
    const map = waiting.getByRole('button', { name: `Map ${insured}` }).first()
    await map.click()
    const dialog = page.getByRole('dialog', { name: `Map to a client: ${insured}` })
    await dialog.getByTitle(id, { exact: true }).waitFor()
    expect(await isFocused(dialog.getByLabel('Destination'))).toBe(true)
    await dialog.getByLabel('Client').fill('C-4711')
    await dialog.getByRole('button', { name: 'Map submission' }).click()
    await person.says(/mapped to C-4711 at clients/)
    const rows = await scene.db.read.sql.selectFrom('push_map').select(['destination', 'submission_id', 'client']).execute()
    expect(rows).toEqual([{ destination: 'clients', submission_id: id, client: 'C-4711' }])
  })

  it('links from the overview to failed documents, explains the fix, and fetches one again', async () => {
    const { items } = await scene.api<{ items: { document_key: string; insured_name: string }[] }>('/documents?state=stored&limit=2')
    const [first, second] = items
    const insured = first?.insured_name ?? ''
    await failDocuments(scene.db, {
      [first?.document_key ?? '']: unlistedHostText('files.example'),
      [second?.document_key ?? '']: 'the service answered 410',
    })
    await person.goto('/')
    const issue = page.getByRole('listitem').filter({ hasText: 'files.example' })
    await issue.getByRole('link', { name: 'Show documents' }).click()
    const row = page.getByRole('table', { name: 'Documents' }).getByRole('row').filter({ hasText: 'files.example' })
    await row.getByText('If you trust files.example, add it to DOCUMENT_HOSTS').waitFor()
    await row.getByRole('link', { name: insured }).waitFor()
    expect(await row.innerText()).toMatch(/\d min ago/)
    expect(await row.getByRole('button').count()).toBe(0)
    const gone = page.getByRole('table', { name: 'Documents' }).getByRole('row').filter({ hasText: 'answered 410' })
    await gone.getByRole('button', { name: /^Fetch again: / }).click()
    await person.says(/1 document queued to be fetched again/)
    await expect.poll(() => gone.count()).toBe(0)
    await row.getByRole('link', { name: 'Reload settings' }).click()
    await page.getByRole('button', { name: 'Reload settings' }).waitFor()
    expect(await actions('document.retry')).toBe(1)
  })

  it('explains the fix of a rejected delivery, and verifies it again', async () => {
    const { webhookSecret } = scene.sandbox.account('default')
    const body = Buffer.from('{"type":"submission.events"}')
    const of = { id: 'msg_before_its_secret', atMs: Date.now() }
    const headers = sign(`whsec_${Buffer.alloc(32, 3).toString('base64')}`, body, of)
    expect((await fetch(`${scene.serve.receiver}/webhooks`, { method: 'POST', headers, body })).status).toBe(401)
    await expect.poll(async () => (await scene.api<{ items: object[] }>('/rejected')).items.length).toBe(1)
    await person.goto('/')
    await page.getByText('1 delivery was rejected in the last day').waitFor()
    await page.getByRole('link', { name: 'Show rejected deliveries' }).click()
    await page.getByRole('cell', { name: 'events', exact: true }).waitFor()
    await page.getByRole('link', { name: /signature matches no webhook secret/ }).click()
    await page.getByText('Add the signing secret from the portal to WEBHOOK_SECRETS').waitFor()
    const [bad = '', good = ''] = [headers, sign(webhookSecret, body, of)].map((each) => each['svix-signature'])
    await scene.db.write('test', (tx) => sql`update sync_rejected set headers = replace(headers, ${bad}, ${good})`.execute(tx.sql))
    await page.getByRole('article').getByRole('button', { name: 'Verify again' }).click()
    await person.says(/1 rejected delivery accepted/)
    await page.getByRole('article').getByText('Accepted later').waitFor()
    await page.getByRole('tab', { name: 'Rejected', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Verify all again' }).count()).toBe(0)
  })

  it('counts changes by number and table before it resends them', async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Resend…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend changes to agency' })
    await dialog.getByLabel('Change numbers').fill('1-40')
    await dialog.getByLabel('Table').selectOption('submissions')
    await dialog.getByRole('button', { name: 'Count changes' }).click()
    await dialog.getByRole('status').getByText('Submissions', { exact: true }).waitFor()
    await dialog.getByText(/^Message ids stay the same/).waitFor()
    await dialog.getByRole('button', { name: 'Yesterday' }).click()
    expect(await dialog.getByLabel('Logged since').inputValue()).toMatch(/T00:00$/)
    await dialog.getByRole('button', { name: 'Today' }).click()
    expect(await dialog.getByLabel('Logged before').inputValue()).toBe('')
    await dialog.getByLabel('Logged since').fill('2020-01-01T00:00')
    await dialog.getByLabel('Logged before').fill('2020-01-02T00:00')
    await dialog.getByRole('button', { name: 'Count changes' }).click()
    await dialog.getByText('No matching changes were logged on Jan 1.').waitFor()
    const { items } = await scene.api<{ items: { insured_name: string | null; submission_id: string }[] }>('/submissions')
    const wanted = items.find(({ insured_name: insured }) => insured)
    await dialog.getByLabel('Submission', { exact: true }).fill(wanted?.insured_name ?? '')
    await dialog.getByRole('button', { name: 'Count changes' }).click()
    await dialog.getByRole('alert').waitFor()
    const found = dialog.getByRole('list', { name: 'Submissions found' }).getByRole('button', { name: wanted?.insured_name ?? '' })
    await found.first().click()
    await dialog.getByRole('button', { name: 'Any submission' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('syncs, re-reads and reconciles a submission', async () => {
    const [id = ''] = scene.sandbox.submissionIds('default')
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('button', { name: 'Sync now' }).click()
    await person.says(/Sync started/)
    const more = page.locator('summary.button').filter({ hasText: 'More' })
    await more.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Re-read feeds' }).focus()
    await page.keyboard.press('Space')
    await expect.poll(() => page.getByRole('button', { name: 'Re-read feeds' }).count()).toBe(0)
    await person.says(/Full re-read of both feeds started/)
    expect(await actions('submission.sync')).toBe(2)
    const audited = await scene.db.read.sql
      .selectFrom('operator_actions')
      .select('detail')
      .where('action', '=', 'submission.sync')
      .execute()
    expect(audited.filter(({ detail }) => JSON.stringify(detail).includes('full_read'))).toHaveLength(1)
    await more.click()
    await page.getByRole('button', { name: 'Map to client…' }).click()
    await page.getByRole('dialog', { name: 'Map to a client' }).waitFor()
    expect(await isFocused(page.getByLabel('Destination', { exact: true }))).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await more.click()
    await page.getByRole('button', { name: 'Reconcile', exact: true }).click()
    await page.waitForURL(/\/reconcile\/[0-9a-f-]{36}$/)
    await page.getByText(/^1 submission( ·|$)/).waitFor()
    const [run] = (await scene.api<{ items: { options: object; state: string }[] }>('/reconcile-runs?limit=1')).items
    expect(run?.options).toEqual({ submissions: [id] })
  })

  it('shows all texts of a timeline with one audit entry, and expands a long text', async () => {
    const [id = ''] = scene.sandbox.submissionIds('default')
    const body = Array.from({ length: 12 }, (_, line) => `Line ${line} of a long message.`).join('\n')
    scene.sandbox.addMessage('default', id, { body_text: body })
    const isMirrored = async () =>
      (await scene.db.read.sql.selectFrom('thread_messages').select('message_id').where('body_text', '=', body).execute()).length === 1
    await expect.poll(isMirrored).toBe(true)
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('button', { name: 'Show message texts' }).click()
    await person.says(/audit log records who saw them/)
    const entry = page.locator('.entry').filter({ hasText: 'Line 11 of a long message.' })
    await entry.getByRole('button', { name: 'Show more' }).click()
    await entry.getByRole('button', { name: 'Show less' }).waitFor()
    const text = entry.locator('.entry-text')
    expect(await text.evaluate((element) => element.scrollHeight <= element.clientHeight + 1)).toBe(true)
    expect(await actions('submission.texts')).toBe(1)
  })

  it('acknowledges an alarm, which stays active, and shows the alarm history', async () => {
    const at = timeFromMs(Date.now() - 60_000)
    await fireDiskAlarm(scene.db, 'warning', 'The disk fills.', at)
    await person.goto('/operations')
    const alarms = page.getByRole('table', { name: 'Alarms', exact: true })
    await alarms.getByRole('button', { name: 'Acknowledge disk nearly full' }).focus()
    await page.keyboard.press('Enter')
    await person.says(/disk nearly full” acknowledged/)
    const row = alarms.getByRole('row').filter({ hasText: 'disk nearly full' })
    await row.getByText(/^otto,/).waitFor()
    expect(await row.innerText()).toContain('firing')
    const history = page.getByRole('table', { name: 'Alarm history' })
    expect(await history.getByRole('row').filter({ hasText: 'disk nearly full' }).innerText()).toMatch(/active[\s\S]*otto/)
    expect(await actions('alarm.acknowledge')).toBe(1)
  })

  it('starts a dry run by keyboard', async () => {
    await person.goto('/reconcile')
    await page.getByLabel('Dry run').focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Start run', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/reconcile\/[0-9a-f-]{36}$/)
    await expect.poll(() => person.heading()).toMatch(/^Dry run of default/)
    const [run] = (await scene.api<{ items: { options: object }[] }>('/reconcile-runs?limit=1')).items
    expect(run?.options).toMatchObject({ dry_run: true })
    await page.getByText(/^12 of 12 submissions/).waitFor()
  })

  it('replays one delivery, and a selection after a dialog that names the count', async () => {
    await person.goto('/deliveries')
    const boxes = page.getByRole('table', { name: 'Deliveries' }).getByRole('checkbox')
    await boxes.nth(1).check()
    await boxes.nth(2).check()
    await page.getByRole('button', { name: 'Replay selected' }).click()
    const dialog = page.getByRole('dialog', { name: 'Replay 2 deliveries?' })
    await dialog.getByRole('button', { name: 'Replay 2 deliveries' }).click()
    await person.says(/2 deliveries queued to be processed again/)
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('link').first().click()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await person.says(/1 delivery queued to be processed again/)
    await expect.poll(() => actions('inbox.replay')).toBe(2)
  })

  it('replays all deliveries that match the filters, after a dialog that names the count', async () => {
    await person.goto('/deliveries')
    await page.getByRole('combobox', { name: 'Type' }).selectOption('submission.message')
    await page.getByRole('combobox', { name: 'Received' }).selectOption('24h')
    await page.waitForURL(/kind=submission\.message&since=24h/)
    const filter = { kind: 'submission.message', since: '24h', dry_run: true }
    const { replayed: n } = await scene.api<{ replayed: number }>('/inbox/replay', filter)
    expect(n).toBeGreaterThan(0)
    const words = n === 1 ? '1 delivery' : `${n} deliveries`
    await page.getByRole('button', { name: 'Replay all matching' }).click()
    const dialog = page.getByRole('dialog', { name: `Replay ${words}?` })
    await dialog.getByRole('button', { name: `Replay ${words}` }).click()
    await person.says(new RegExp(`${words} queued to be processed again`))
    const [note] = await listActions(scene.db.read, { action: 'inbox.replay', who: 'otto' }, 1)
    expect(note?.detail).toMatchObject({ kind: 'submission.message', replayed: n })
  })

  it('works by keyboard: palette, search, rows, back', async () => {
    await person.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const [item] = (await scene.api<{ items: { insured_name: string }[] }>('/submissions?limit=1')).items
    const palette = page.getByRole('dialog', { name: 'Command palette' })
    await page.keyboard.press('Control+k')
    await expect.poll(() => isFocused(palette.getByRole('combobox'))).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => palette.count()).toBe(0)
    await page.getByRole('button', { name: 'Search and actions' }).click()
    await expect.poll(() => isFocused(palette.getByRole('combobox'))).toBe(true)
    await page.keyboard.type(item?.insured_name ?? '')
    const option = palette.getByRole('option', { name: item?.insured_name ?? '' }).first()
    await option.waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(item?.insured_name)
    await page.keyboard.press('Escape')
    const rows = page.getByRole('table', { name: 'Submissions' }).getByRole('row').getByRole('link')
    await rows.first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('a')
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Search submissions').inputValue()).toBe('a')
    await person.goto('/submissions?sort=name')
    await rows.first().waitFor()
    await page.keyboard.press('/')
    expect(await isFocused(page.getByLabel('Search submissions'))).toBe(true)
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(key)
    const [first, second] = [await rows.nth(0).innerText(), await rows.nth(1).innerText()]
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(second)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate(`document.activeElement?.textContent`)).toBe(second)
    expect(new URL(page.url()).search).toBe('?sort=name')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(first)
  })

  it('opens a delivery by keyboard, with the focus on its heading, or by a click anywhere on the row', async () => {
    await person.goto('/deliveries')
    const table = page.getByRole('table', { name: 'Deliveries' })
    await table.getByRole('row').nth(1).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { level: 1 })
    await page.waitForURL(/\/deliveries\/\d+/)
    await expect.poll(() => isFocused(heading)).toBe(true)
    await person.goto('/deliveries')
    await table.getByRole('row').nth(2).getByRole('cell').nth(1).click()
    await page.waitForURL(/\/deliveries\/\d+/)
  })

  it('shows a lost connection, and recovers', async () => {
    await person.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.context().setOffline(true)
    await page.getByText(/^Connection lost, data from \d\d:\d\d:\d\d$/).waitFor()
    expect(await person.heading()).toMatch(/^(Complete|Catching|Needs)/)
    await page.context().setOffline(false)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
  })
})
