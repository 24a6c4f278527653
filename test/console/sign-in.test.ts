import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { onSqlite } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, playStory, type Scene, tokens } from './scene.ts'

describe.each(onSqlite)('who may see and do what in the console, on $name', (database) => {
  let browser: Browser
  let scene: Scene

  beforeAll(async () => {
    browser = await launchBrowser()
    scene = await openScene(database)
    await playStory(scene)
  })

  afterAll(async () => {
    await browser.close()
    await scene.close()
  })

  it('takes a token, refuses a wrong one, and signs out', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    await person.goto('/submissions')
    expect(await person.heading()).toBe('Sign in')
    expect(await person.violations()).toEqual([])
    await page.getByLabel('Token').fill('wrong-0123456789-abcdef')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    expect(await page.getByRole('alert').innerText()).toBe('Token not recognised')
    await page.getByLabel('Token').fill(tokens.viewer)
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: 'Submissions' }).waitFor()
    const banner = page.getByRole('banner')
    await banner.getByRole('button', { name: /Signed in as vera/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    expect(await person.heading()).toBe('Sign in')
    await person.close()
  })

  it('fills in the form with a token behind the # of an address, and signs in only after a click', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    const address = `/destinations#token=${tokens.operator}`
    await person.goto(address)
    expect([await person.heading(), page.url()]).toEqual(['Sign in', `${scene.console}/destinations`])
    expect(await page.context().cookies()).toEqual([])
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('table', { name: 'Destinations' }).waitFor()
    // The address of another token leaves a session as it is.
    await page.goto('about:blank')
    await person.goto(address.replace(tokens.operator, tokens.admin))
    await page.getByRole('button', { name: /Signed in as otto/ }).waitFor()
    await person.close()
  })

  it('locks nobody out by a page that opens such an address again and again', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    for (let n = 0; n < 12; n++) {
      await page.goto('about:blank')
      await person.goto('/#token=wrong-0123456789')
      expect(await person.heading()).toBe('Sign in')
    }
    await person.signIn('viewer', '/')
    await person.close()
  })

  it('shows a viewer no personal value and no body, and which role an action takes', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    const [{ submission_id: id }, delivery] = await Promise.all([withMessage(scene), newestDelivery(scene)])
    await person.signIn('viewer', `/submissions/default/${id}`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('••••').first().waitFor()
    expect(await timeline.getByRole('button', { name: /^Show/ }).first().isDisabled()).toBe(true)
    const read = page.getByRole('button', { name: 'Read now' })
    expect([await read.isDisabled(), await read.getAttribute('title')]).toEqual([true, 'This takes the role operator.'])
    await person.goto(`/deliveries/${delivery}`)
    await page.getByText('Not for your role').waitFor()
    await page.getByText('this takes the role operator; the token vera has the role viewer').waitFor()
    await person.close()
  })

  it('shows a masked value to an operator who asks for it, and notes that', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    const { submission_id: id, body } = await withMessage(scene)
    await person.signIn('operator', `/submissions/default/${id}?kinds=message`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    const entry = timeline.getByRole('listitem').filter({ hasText: '••••' }).first()
    await entry.getByRole('button', { name: /^Show/ }).click()
    await timeline
      .getByText(body.split('\n')[0] ?? '', { exact: false })
      .first()
      .waitFor()
    const [shown] = await listActions(scene.db.read, { action: 'row.show' }, 1)
    expect(shown).toMatchObject({ who: 'otto', outcome: 'done', target: 'thread_messages' })
    await person.close()
  })

  it('leaves nothing of what it showed to whoever signs in after a session that ended by itself', async () => {
    const person = await Person.open(browser, scene)
    const { page } = person
    await page.clock.install()
    const { submission_id: id, body } = await withMessage(scene)
    const [first = ''] = body.split('\n')
    await person.signIn('operator', `/submissions/default/${id}?kinds=message`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByRole('listitem').filter({ hasText: '••••' }).first().getByRole('button', { name: /^Show/ }).click()
    await timeline.getByText(first, { exact: false }).first().waitFor()
    await page.context().clearCookies()
    // Who is signed in is asked for each minute.
    await page.clock.fastForward(61_000)
    await page.getByLabel('Token').fill(tokens.viewer)
    await page.keyboard.press('Enter')
    await timeline.getByText('••••').first().waitFor()
    expect(await timeline.getByText(first, { exact: false }).count()).toBe(0)
    await person.close()
  })
})

async function withMessage({ db }: Scene): Promise<{ submission_id: string; body: string }> {
  const rows = await db.read.sql
    .selectFrom('thread_messages')
    .select(['submission_id', 'body_text as body', 'occurred_at'])
    .where('body_text', 'is not', null)
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .execute()
  const [row] = rows
  if (!row?.body) throw new Error('no message came')
  return { submission_id: row.submission_id, body: row.body }
}

async function newestDelivery({ api }: Scene): Promise<number> {
  const { items } = await api<{ items: { inbox_id: number }[] }>('/inbox?limit=1')
  return items[0]?.inbox_id ?? 0
}
