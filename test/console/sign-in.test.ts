import { describe, expect, it } from 'vitest'
import { listActions } from '../../src/store/operators/actions.ts'
import { onSqlite } from '../tools/databases.ts'
import { type Stage, setStage, visit } from './browser.ts'
import { type Scene, tokens } from './scene.ts'

describe.each(onSqlite)('sign-in and roles, on $name', (database) => {
  let { browser, scene } = {} as Stage

  setStage((stage) => ({ browser, scene } = stage), { database })

  it('accepts a token, rejects a wrong one, and signs out', async () => {
    const { person, page } = await visit({ browser, scene })
    await person.goto('/submissions')
    expect(await person.heading()).toBe('Sign in')
    expect(await person.violations()).toEqual([])
    await page.getByLabel('Token').fill('wrong-0123456789-abcdef')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    expect(await page.getByRole('alert').innerText()).toBe('The token is not valid. Check it, and sign in again')
    await page.getByLabel('Token').fill(tokens.viewer)
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: 'Submissions' }).waitFor()
    const banner = page.getByRole('banner')
    await banner.getByLabel(/Signed in as vera/).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    expect(await person.heading()).toBe('Sign in')
  })

  it('fills in a token from the # of the address, and signs in only after a click', async () => {
    const { person, page } = await visit({ browser, scene })
    const address = `/destinations#token=${tokens.operator}`
    await person.goto(address)
    expect([await person.heading(), page.url()]).toEqual(['Sign in', `${scene.console}/destinations`])
    expect(await page.context().cookies()).toEqual([])
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('table', { name: 'Destinations' }).waitFor()
    // An address with another token doesn't change the session.
    await page.goto('about:blank')
    await person.goto(address.replace(tokens.operator, tokens.admin))
    await page.getByLabel(/Signed in as otto/).waitFor()
  })

  it("doesn't lock users out when a page opens such an address repeatedly", async () => {
    const { person, page } = await visit({ browser, scene })
    for (let n = 0; n < 12; n++) {
      await page.goto('about:blank')
      await person.goto('/#token=wrong-0123456789')
      expect(await person.heading()).toBe('Sign in')
    }
    await person.signIn('viewer', '/')
  })

  it('hides personal values and bodies from a viewer, and names the required role', async () => {
    const { person, page } = await visit({ browser, scene })
    const { submission_id: id } = await withMessage(scene)
    const { items: deliveries } = await scene.api<{ items: { inbox_id: number }[] }>('/inbox?limit=1')
    await person.signIn('viewer', `/submissions/default/${id}`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('••••').first().waitFor()
    expect(await timeline.getByRole('button', { name: /^Show/ }).first().isDisabled()).toBe(true)
    const read = page.getByRole('button', { name: 'Sync now' })
    expect([await read.isDisabled(), await read.getAttribute('title')]).toEqual([true, 'Requires the operator role.'])
    await person.goto(`/deliveries/${deliveries[0]?.inbox_id}`)
    await page.getByText("Your role doesn't allow this").waitFor()
    await page.getByText('requires the operator role; vera has the viewer role').waitFor()
  })

  it('unmasks a value for an operator, and audits it', async () => {
    const { person, page } = await visit({ browser, scene })
    const { submission_id: id, body } = await withMessage(scene)
    await person.signIn('operator', `/submissions/default/${id}?kinds=message`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    const entry = timeline.getByRole('listitem').filter({ hasText: '••••' }).first()
    await entry.getByRole('button', { name: /^Show/ }).click()
    const text = timeline.getByText(body.split('\n')[0] ?? '', { exact: false }).first()
    await text.waitFor()
    const [shown] = await listActions(scene.db.read, { action: 'row.show' }, 1)
    expect(shown).toMatchObject({ who: 'otto', outcome: 'done', target: 'thread_messages' })
  })

  it('clears all data before the next user signs in after an expired session', async () => {
    const { person, page } = await visit({ browser, scene })
    await page.clock.install()
    const { submission_id: id, body } = await withMessage(scene)
    const [first = ''] = body.split('\n')
    await person.signIn('operator', `/submissions/default/${id}?kinds=message`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByRole('listitem').filter({ hasText: '••••' }).first().getByRole('button', { name: /^Show/ }).click()
    await timeline.getByText(first, { exact: false }).first().waitFor()
    await page.context().clearCookies()
    // The session is checked each minute.
    await page.clock.fastForward(61_000)
    await page.getByLabel('Token').fill(tokens.viewer)
    await page.keyboard.press('Enter')
    await timeline.getByText('••••').first().waitFor()
    expect(await timeline.getByText(first, { exact: false }).count()).toBe(0)
  })
})

async function withMessage({ db }: Scene): Promise<{ submission_id: string; body: string }> {
  const messages = db.read.sql.selectFrom('thread_messages').select(['submission_id', 'body_text as body', 'occurred_at'])
  const [row] = await messages.where('body_text', 'is not', null).orderBy('occurred_at', 'desc').limit(1).execute()
  if (!row?.body) throw new Error('no message came')
  return { submission_id: row.submission_id, body: row.body }
}
