import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { type Stage, setStage, visit } from './browser.ts'
import type { TestRole } from './scene.ts'

/** Types a third letter into the search of a list when the address takes the first two. */
const TYPE_WHILE_SENT = `(() => {
  const replace = history.replaceState.bind(history)
  history.replaceState = (...args) => {
    history.replaceState = replace
    replace(...args)
    const field = document.querySelector('main input[type="search"]')
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, 'alb')
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }
})()`

describe('the command palette', () => {
  let { browser, scene } = {} as Stage

  setStage((stage) => ({ browser, scene } = stage), { prepare: () => {} })

  const open = (role: TestRole) => visit({ browser, scene }, { role })
  /** Opens the palette and types. @returns its options. */
  const typed = async (page: Page, text: string) => {
    const palette = page.getByRole('dialog', { name: 'Command palette' })
    // Twice: a second press must not lose what is typed.
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await expect.poll(() => palette.getByRole('combobox').inputValue()).toBe(text)
    return palette.getByRole('option')
  }
  const leave = async (page: Page) => {
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  }

  it('runs actions of other pages for an administrator', async () => {
    const { person, page } = await open('admin')
    for (const [text, name] of [
      ['pause', 'Pause destination agency'],
      ['test', 'Test destination clients'],
      ['sync', 'Sync a submission'],
      ['reconcile run', 'Start a reconcile run'],
      ['dead', 'Replay dead deliveries'],
      ['settings', 'Active settings'],
      ['alarms', 'Alarms'],
      ['sign out', 'Sign out'],
    ] as const) {
      await (await typed(page, text)).filter({ hasText: name }).first().waitFor()
      await leave(page)
    }
    await (await typed(page, 'doctor')).filter({ hasText: 'Run doctor' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/operations#upkeep$/)
    await person.says(/\d+ checks: /)
    await (await typed(page, 'back up')).filter({ hasText: 'Back up' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Back up the database?' }).waitFor()
    await leave(page)
    await (await typed(page, 'pause destination agency')).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/destinations\/agency$/)
    await (await typed(page, 'sign out')).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('runs what was typed on a slow machine', async () => {
    const { person, page } = await open('admin')
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 10 })
    for (const _round of [1, 2, 3]) {
      await person.goto('/')
      await page.getByRole('button', { name: /Search and actions/ }).waitFor()
      await (await typed(page, 'pause destination agency')).first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/destinations\/agency$/)
    }
  })

  it('runs what was typed, not the search result of an earlier letter', async () => {
    const { page } = await open('viewer')
    // Searches for more than one letter get no answer.
    await page.route(/\/search\?q=s./, () => undefined)
    await typed(page, 's')
    await page.getByRole('group', { name: 'Search results' }).getByRole('option').first().waitFor()
    await page.keyboard.type('ign out')
    await page.getByRole('option', { name: 'Sign out' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.unrouteAll()
  })

  it('stays open while the list behind it is filtered, and keeps the last input', async () => {
    const { person, page } = await open('viewer')
    await person.goto('/submissions')
    const search = page.getByLabel('Search submissions')
    await search.fill('a')
    await typed(page, 'alarms')
    await page.waitForURL(/search=a$/)
    expect(await page.getByRole('dialog', { name: 'Command palette' }).getByRole('combobox').inputValue()).toBe('alarms')
    await leave(page)
    await page.evaluate(TYPE_WHILE_SENT)
    await search.fill('al')
    await page.waitForURL(/search=alb$/)
    expect(await search.inputValue()).toBe('alb')
  })

  it('offers a viewer only permitted actions', async () => {
    const { page } = await open('viewer')
    for (const text of ['doctor', 'pause', 'back up']) {
      await typed(page, text)
      await page.getByText('No results.').waitFor()
      await leave(page)
    }
    await (await typed(page, 'open destination agency')).first().waitFor()
  })

  it('scrolls to a section by its address, and finds a setting by its variable', async () => {
    const { person, page } = await open('viewer')
    await person.goto('/operations#settings')
    const settings = page.getByRole('region', { name: 'Active settings' })
    await settings.getByText('poll.active', { exact: true }).waitFor()
    await expect.poll(async () => ((await settings.boundingBox())?.y ?? 0) < 200).toBe(true)
    await page.getByLabel('Search settings').fill('POLL_ACTIVE')
    await expect.poll(() => settings.locator('dt').allInnerTexts()).toEqual(['poll.active POLL_ACTIVE'])
    await page.getByLabel('Search settings').fill('nothing of the kind')
    await settings.getByText('No settings match').waitFor()
    await page.getByLabel('Search settings').fill('')
    await settings.getByText('poll.active', { exact: true }).waitFor()
    await page.getByRole('list', { name: 'Sections' }).getByRole('link', { name: 'Audit' }).click()
    await page.waitForURL(/\/operations#audit$/)
    await expect.poll(async () => ((await page.getByRole('region', { name: 'Audit' }).boundingBox())?.y ?? 999) < 200).toBe(true)
  })
})
