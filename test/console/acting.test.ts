import { sql } from 'kysely'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { listActions } from '../../src/store/operators/actions.ts'
import { hostNotNamed } from '../../src/upstream/http/elsewhere.ts'
import { sign } from '../receive/support.ts'
import { onSqlite } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { fireAlarm, openScene, playStory, type Scene } from './scene.ts'

/** Whether what is typed goes there. */
const isFocused = (field: Locator) => field.evaluate((element) => element === element.ownerDocument.activeElement)

describe.each(onSqlite)('what an operator does in the console, on $name', (database) => {
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
    await person.signIn('operator')
  })

  afterAll(async () => {
    await person.close()
    await browser.close()
    await scene.close()
  })

  const actions = async (action: string) => (await listActions(scene.db.read, { action, who: 'otto' }, 50)).length

  it('brings back what a destination refused, from the first page', async () => {
    scene.agency.status = 400
    scene.agency.body = '{"detail": "the client is closed"}'
    const [id = ''] = scene.sandbox.submissionIds('default')
    scene.sandbox.addEvent('default', id, { type: 'status_changed', detail: 'refused at first' })
    await expect.poll(async () => (await scene.destination('agency'))?.dead).toBeGreaterThan(0)
    scene.agency.status = 204
    scene.agency.body = ''
    await person.goto('/destinations/agency')
    await page
      .getByRole('table', { name: 'Failures at agency' })
      .getByRole('link', { name: /^answered 400/ })
      .first()
      .click()
    await page.waitForURL(/state=dead&reason=/)
    // From here on the list is the narrowed one: what was opened in the one before would go with it.
    await page.getByRole('button', { name: /^Reason: answered 400/ }).waitFor()
    await page
      .getByRole('table', { name: 'Changes for agency' })
      .getByRole('button', { name: /^Retry change/ })
      .first()
      .waitFor()
    await page
      .getByRole('button', { name: /^answered 400/ })
      .first()
      .click()
    const whole = page.getByRole('dialog', { name: /what went wrong$/ }).getByText('answered 400 (the client is closed)')
    await whole.waitFor()
    // The list is read anew as things happen, and once more when it was drawn: what is open stays.
    for (const detail of ['one more', 'and another']) {
      const readAnew = page.waitForResponse(/\/api\/v1\/outbox\?/)
      scene.sandbox.addEvent('default', id, { type: 'status_changed', detail })
      await readAnew
    }
    expect(await whole.isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByLabel('Search changes for agency').fill('nothing is called that')
    await page.getByText('No change fits these filters.').waitFor()
    await person.goto('/destinations/agency')
    expect(await page.getByLabel('State', { exact: true }).inputValue()).toBe('dead')
    await person.goto('/')
    await page.getByRole('listitem').filter({ hasText: 'for destination agency' }).getByRole('button', { name: 'Retry changes' }).click()
    const dead = (await scene.destination('agency'))?.dead ?? 0
    const deed = dead === 1 ? 'Retry 1 change' : `Retry ${dead} changes`
    const question = page.getByRole('dialog', { name: `${deed}?` })
    await question.getByText('answered 400 (the client is closed)').waitFor()
    await question.getByRole('button', { name: deed }).click()
    await person.says(/will be sent again/)
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
    await person.says(/agency goes on/)
    expect((await scene.destination('agency'))?.state).toBe('active')
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await person.says(/\w/)
    await expect.poll(() => actions('destination.test')).toBe(1)
    await page.keyboard.press('Escape')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/destinations')
  })

  it('gives the client of a submission that waits for one', async () => {
    await person.goto('/destinations/clients?state=unmapped')
    const waiting = page.getByRole('table', { name: 'Submissions without a client at clients' })
    await waiting.getByRole('link').first().waitFor()
    const [first] = (await scene.api<{ items: { insured_name: string; submission_id: string }[] }>('/destinations/clients/unmapped')).items
    const { insured_name: insured, submission_id: id } = first ?? { insured_name: '', submission_id: '' }
    await page.getByLabel('Search unmapped submissions').fill(insured)
    await waiting
      .getByRole('button', { name: `Map ${insured}` })
      .first()
      .click()
    const dialog = page.getByRole('dialog', { name: `Map to a client: ${insured}` })
    await dialog.getByTitle(id, { exact: true }).waitFor()
    expect(await isFocused(dialog.getByLabel('Destination'))).toBe(true)
    await dialog.getByLabel('Client').fill('C-4711')
    await dialog.getByRole('button', { name: 'Map submission' }).click()
    await person.says(/: 1 submission mapped to C-4711 at clients/)
    const rows = await scene.db.read.sql.selectFrom('push_map').select(['destination', 'submission_id', 'client']).execute()
    expect(rows).toEqual([{ destination: 'clients', submission_id: id, client: 'C-4711' }])
  })

  it('goes from the overview to the documents that failed, says what to do, and has one fetched again', async () => {
    const { items } = await scene.api<{ items: { document_key: string; insured_name: string }[] }>('/documents?state=stored&limit=2')
    const [{ insured_name: insured = '' } = {}] = items
    const errors = [hostNotNamed('files.example'), 'the service answered 410']
    await scene.db.write('test', async (tx) => {
      for (const [index, { document_key: key }] of items.entries()) {
        const failed = { stored_at: null, stored_path: null, sha256: null, error: errors[index] ?? null }
        await tx.sql.updateTable('documents').set(failed).where('document_key', '=', key).execute()
        const outcome = { due_at: null, failures: 1, failing_since: timeFromMs(Date.now() - 90_000) }
        await tx.sql.updateTable('sync_documents').set(outcome).where('document_key', '=', key).execute()
      }
    })
    await person.goto('/')
    const need = page.getByRole('listitem').filter({ hasText: 'lies on files.example' })
    await need.getByRole('link', { name: 'Show documents' }).click()
    const row = page.getByRole('table', { name: 'Documents' }).getByRole('row').filter({ hasText: 'files.example' })
    await row.getByText('If you trust files.example, add it to DOCUMENT_HOSTS').waitFor()
    await row.getByRole('link', { name: insured }).waitFor()
    expect(await row.innerText()).toMatch(/\d min ago/)
    expect(await row.getByRole('button').count()).toBe(0)
    const gone = page.getByRole('table', { name: 'Documents' }).getByRole('row').filter({ hasText: 'answered 410' })
    await gone.getByRole('button', { name: /^Fetch again: / }).click()
    await person.says(/1 document will be fetched again/)
    await expect.poll(() => gone.count()).toBe(0)
    await row.getByRole('link', { name: 'Reload the settings' }).click()
    await page.getByRole('button', { name: 'Reload the settings' }).waitFor()
    expect(await actions('document.retry')).toBe(1)
  })

  it('says how a refused delivery is mended, and verifies it again', async () => {
    const { webhookSecret } = scene.sandbox.account('default')
    const body = Buffer.from('{"type":"submission.events"}')
    const of = { id: 'msg_before_its_secret', atMs: Date.now() }
    const headers = sign(`whsec_${Buffer.alloc(32, 3).toString('base64')}`, body, of)
    expect((await fetch(`${scene.serve.receiver}/webhooks`, { method: 'POST', headers, body })).status).toBe(401)
    await expect.poll(async () => (await scene.api<{ items: object[] }>('/rejected')).items.length).toBe(1)
    await person.goto('/')
    await page.getByText('1 delivery was refused in the last day').waitFor()
    await page.getByRole('link', { name: 'Show rejected deliveries' }).click()
    await page.getByRole('cell', { name: 'events', exact: true }).waitFor()
    await page.getByRole('link', { name: /no secret of the account/ }).click()
    await page.getByText('Copy the signing secret from the portal into WEBHOOK_SECRETS').waitFor()
    const [bad = '', good = ''] = [headers, sign(webhookSecret, body, of)].map((each) => each['svix-signature'])
    await scene.db.write('test', (tx) => sql`update sync_rejected set headers = replace(headers, ${bad}, ${good})`.execute(tx.sql))
    await page.getByRole('article').getByRole('button', { name: 'Verify again' }).click()
    await person.says(/1 rejected delivery accepted/)
    await page.getByRole('article').getByText('It was accepted later').waitFor()
    await page.getByRole('tab', { name: 'Rejected', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Verify all again' }).count()).toBe(0)
  })

  it('counts the changes of some numbers and of one table before it sends them again', async () => {
    await person.goto('/destinations/agency')
    await page.getByRole('button', { name: 'Resend…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend changes to agency' })
    await dialog.getByLabel('Changes by number').fill('1-40')
    await dialog.getByLabel('Table').selectOption('submissions')
    await dialog.getByRole('button', { name: 'Count the changes' }).click()
    await dialog.getByRole('status').getByText('Submissions', { exact: true }).waitFor()
    await dialog.getByText(/^Message ids stay the same/).waitFor()
    await dialog.getByRole('button', { name: 'Yesterday' }).click()
    expect(await dialog.getByLabel('Logged since').inputValue()).toMatch(/T00:00$/)
    await dialog.getByRole('button', { name: 'Today' }).click()
    expect(await dialog.getByLabel('Logged before').inputValue()).toBe('')
    await dialog.getByLabel('Logged since').fill('2020-01-01T00:00')
    await dialog.getByLabel('Logged before').fill('2020-01-02T00:00')
    await dialog.getByRole('button', { name: 'Count the changes' }).click()
    await dialog.getByText('No change of this choice was logged on Jan 1.').waitFor()
    const { items } = await scene.api<{ items: { insured_name: string | null; submission_id: string }[] }>('/submissions')
    const wanted = items.find(({ insured_name: insured }) => insured)
    await dialog.getByLabel('Submission', { exact: true }).fill(wanted?.insured_name ?? '')
    await dialog.getByRole('button', { name: 'Count the changes' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog
      .getByRole('list', { name: 'Submissions found' })
      .getByRole('button', { name: wanted?.insured_name ?? '' })
      .first()
      .click()
    await dialog.getByRole('button', { name: 'Any submission' }).waitFor()
    await page.keyboard.press('Escape')
  })

  it('has a submission read, replayed and reconciled', async () => {
    const [id = ''] = scene.sandbox.submissionIds('default')
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('button', { name: 'Read now' }).click()
    await person.says(/service is asked now/)
    const more = page.locator('summary.button').filter({ hasText: 'More' })
    await more.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Replay feeds' }).focus()
    await page.keyboard.press('Space')
    await expect.poll(() => page.getByRole('button', { name: 'Replay feeds' }).count()).toBe(0)
    await person.says(/read again from the beginning/)
    expect(await actions('submission.sync')).toBe(2)
    const noted = await scene.db.read.sql.selectFrom('operator_actions').select('detail').where('action', '=', 'submission.sync').execute()
    expect(noted.filter(({ detail }) => JSON.stringify(detail).includes('replay'))).toHaveLength(1)
    await more.click()
    await page.getByRole('button', { name: 'Map to client…' }).click()
    await page.getByRole('dialog', { name: 'Map to a client' }).waitFor()
    expect(await isFocused(page.getByLabel('Destination', { exact: true }))).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await more.click()
    await page.getByRole('button', { name: 'Reconcile', exact: true }).click()
    await page.waitForURL(/\/reconcile\/[0-9a-f-]{36}$/)
    await page.getByText('1 of 1 submissions').waitFor()
    const [run] = (await scene.api<{ items: { options: object; state: string }[] }>('/reconcile-runs?limit=1')).items
    expect(run?.options).toEqual({ submissions: [id] })
  })

  it('shows all texts of a timeline at once, noted once, and a long one to its end', async () => {
    const [id = ''] = scene.sandbox.submissionIds('default')
    const body = Array.from({ length: 12 }, (_, line) => `Line ${line} of a long message.`).join('\n')
    scene.sandbox.addMessage('default', id, { body_text: body })
    const isMirrored = async () =>
      (await scene.db.read.sql.selectFrom('thread_messages').select('message_id').where('body_text', '=', body).execute()).length === 1
    await expect.poll(isMirrored).toBe(true)
    await person.goto(`/submissions/default/${id}`)
    await page.getByRole('button', { name: 'Show all texts' }).click()
    await person.says(/noted who saw them/)
    const entry = page.locator('.entry').filter({ hasText: 'Line 11 of a long message.' })
    await entry.getByRole('button', { name: 'More' }).click()
    await entry.getByRole('button', { name: 'Less' }).waitFor()
    const text = entry.locator('.entry-text')
    expect(await text.evaluate((element) => element.scrollHeight <= element.clientHeight + 1)).toBe(true)
    expect(await actions('submission.texts')).toBe(1)
  })

  it('takes note of an alarm, which goes on to fire, and shows when alarms fired', async () => {
    const at = timeFromMs(Date.now() - 60_000)
    const alarm = {
      account: '',
      destination: '',
      severity: 'warning',
      since: at,
      last_at: at,
      resolved_at: null,
      notified_at: null,
    } as const
    await fireAlarm(scene.db, { ...alarm, name: 'disk_space', state: 'firing', text: 'The disk fills.' })
    await person.goto('/operations')
    const alarms = page.getByRole('table', { name: 'Alarms', exact: true })
    await alarms.getByRole('button', { name: 'Acknowledge disk space' }).focus()
    await page.keyboard.press('Enter')
    await person.says(/you know of disk space/)
    const row = alarms.getByRole('row').filter({ hasText: 'disk space' })
    await row.getByText(/^otto,/).waitFor()
    expect(await row.innerText()).toContain('firing')
    const history = page.getByRole('table', { name: 'History of alarms' })
    expect(await history.getByRole('row').filter({ hasText: 'disk space' }).innerText()).toMatch(/still on[\s\S]*otto/)
    expect(await actions('alarm.acknowledge')).toBe(1)
  })

  it('starts a dry run by keys alone', async () => {
    await person.goto('/reconcile')
    await page.getByLabel('Dry run').focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Start', exact: true }).focus()
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
    await person.says(/2 deliveries will be worked again/)
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('link').first().click()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await person.says(/1 delivery will be worked again/)
    await expect.poll(() => actions('inbox.replay')).toBe(2)
  })

  it('replays all that the filters of the list find, after a dialog that names the count', async () => {
    await person.goto('/deliveries')
    await page.getByRole('combobox', { name: 'Type' }).selectOption('submission.message')
    await page.getByRole('combobox', { name: 'Received' }).selectOption('24h')
    await page.waitForURL(/kind=submission\.message&since=24h/)
    const filter = { kind: 'submission.message', since: '24h', dry_run: true }
    const { replayed: n } = await scene.api<{ replayed: number }>('/inbox/replay', filter)
    expect(n).toBeGreaterThan(0)
    const words = n === 1 ? '1 delivery' : `${n} deliveries`
    await page.getByRole('button', { name: 'Replay all found' }).click()
    const dialog = page.getByRole('dialog', { name: `Replay ${words}?` })
    await dialog.getByRole('button', { name: `Replay ${words}` }).click()
    await person.says(new RegExp(`${words} will be worked again`))
    const [note] = await listActions(scene.db.read, { action: 'inbox.replay', who: 'otto' }, 1)
    expect(note?.detail).toMatchObject({ kind: 'submission.message', replayed: n })
  })

  it('is worked by keys: palette, search, rows, back, help', async () => {
    await person.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const [item] = (await scene.api<{ items: { insured_name: string }[] }>('/submissions?limit=1')).items
    const palette = page.getByRole('dialog', { name: 'Command palette' })
    await page.keyboard.press('Control+k')
    await expect.poll(() => isFocused(palette.getByRole('combobox'))).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => palette.count()).toBe(0)
    await page.getByRole('button', { name: 'Find or do' }).click()
    await expect.poll(() => isFocused(palette.getByRole('combobox'))).toBe(true)
    await page.keyboard.type(item?.insured_name ?? '')
    await palette
      .getByRole('option', { name: item?.insured_name ?? '' })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(item?.insured_name)
    await page.keyboard.press('Escape')
    await page.getByRole('table', { name: 'Submissions' }).waitFor()
    await page.keyboard.press('/')
    expect(await isFocused(page.getByLabel('Search submissions'))).toBe(true)
    await page.keyboard.press('ArrowDown')
    expect(await isFocused(page.getByRole('table', { name: 'Submissions' }).getByRole('row').getByRole('link').first())).toBe(true)
    await page.keyboard.press('/')
    await page.keyboard.type('a')
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Search submissions').inputValue()).toBe('a')
    await person.goto('/submissions?sort=name')
    await page.getByRole('table', { name: 'Submissions' }).waitFor()
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key)
    const rows = page.getByRole('table', { name: 'Submissions' }).getByRole('row').getByRole('link')
    const name = await rows.nth(0).innerText()
    await page.keyboard.press('j')
    const opened = rows.nth(1)
    const second = await opened.innerText()
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(second)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate(`document.activeElement?.textContent`)).toBe(second)
    expect(new URL(page.url()).search).toBe('?sort=name')
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await expect.poll(() => person.heading()).toBe(name)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Next row').waitFor()
  })

  it('goes to a page, selects a row, replays and opens by keys, and by a click anywhere on the row', async () => {
    await person.goto('/submissions')
    await page.getByRole('table', { name: 'Submissions' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.waitForURL(/\/deliveries$/)
    const table = page.getByRole('table', { name: 'Deliveries' })
    await table.waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    expect(await table.getByRole('checkbox').first().isChecked()).toBe(true)
    await page.keyboard.press('r')
    await page.getByRole('dialog', { name: 'Replay 1 delivery?' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await table.getByRole('row').nth(1).getByRole('link').first().focus()
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { level: 1 })
    await expect.poll(() => isFocused(heading)).toBe(true)
    const before = await actions('inbox.replay')
    await page.keyboard.press('r')
    await person.says(/1 delivery will be worked again/)
    await expect.poll(() => actions('inbox.replay')).toBe(before + 1)
    await person.goto('/deliveries')
    await table.getByRole('row').nth(2).getByRole('cell').nth(1).click()
    await page.waitForURL(/\/deliveries\/\d+/)
  })

  it('says when the connection is lost, and goes on when it is back', async () => {
    await person.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.context().setOffline(true)
    await page.getByText(/^as of \d\d:\d\d:\d\d, connection lost$/).waitFor()
    expect(await person.heading()).toMatch(/^(Complete|Catching|Needs)/)
    await page.context().setOffline(false)
    await page
      .getByRole('banner')
      .getByText(/^(Live|Every 5 s)$/)
      .waitFor()
  })
})
