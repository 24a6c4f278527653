import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, type Scene, type TestRole } from './scene.ts'

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

describe('what is found by its name from anywhere', () => {
  let browser: Browser
  let scene: Scene

  beforeAll(async () => {
    browser = await launchBrowser()
    scene = await openScene(sqliteDatabase)
  })

  afterAll(async () => {
    await browser.close()
    await scene.close()
  })

  const open = async (role: TestRole) => {
    const person = await Person.open(browser, scene)
    await person.signIn(role)
    return person
  }
  /** Opens the palette, types at once, and hands its options back. */
  const typed = async (page: Page, text: string) => {
    const palette = page.getByRole('dialog', { name: 'Command palette' })
    // Twice: a second press changes nothing of what is typed then.
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

  it('offers on the first page what an administrator can do on others, and does it', async () => {
    const person = await open('admin')
    const { page } = person
    for (const [text, name] of [
      ['pause', 'Pause destination agency'],
      ['test', 'Test destination clients'],
      ['sync', 'Choose a submission, to read it now'],
      ['reconcile run', 'Go to Reconcile, to start a run'],
      ['dead', 'Show dead deliveries, to replay them'],
      ['settings', 'Settings in force'],
      ['alarms', 'Alarms'],
      ['sign out', 'Sign out'],
    ] as const) {
      await (await typed(page, text)).filter({ hasText: name }).first().waitFor()
      await leave(page)
    }
    await (await typed(page, 'doctor')).filter({ hasText: 'Run the doctor' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/operations#upkeep$/)
    await person.says(/looked at|needs? a look/)
    await (await typed(page, 'back up')).filter({ hasText: 'Back up' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Make a backup?' }).waitFor()
    await leave(page)
    await (await typed(page, 'pause destination agency')).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/destinations\/agency$/)
    await (await typed(page, 'sign out')).first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await person.close()
  })

  it('does what was typed however slow the machine, never what an earlier letter found', async () => {
    const person = await open('admin')
    const { page } = person
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 10 })
    for (const _round of [1, 2, 3]) {
      await person.goto('/')
      await page.getByRole('button', { name: /Find or do/ }).waitFor()
      await (await typed(page, 'pause destination agency')).first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/destinations\/agency$/)
    }
    await person.close()
  })

  it('does what was typed before the database answers, not what it found for the first letter', async () => {
    const person = await open('viewer')
    const { page } = person
    // Whatever is asked for by more than a letter gets no answer.
    await page.route(/\/search\?q=s./, () => undefined)
    await typed(page, 's')
    await page.getByRole('group', { name: 'Found' }).getByRole('option').first().waitFor()
    await page.keyboard.type('ign out')
    await page.getByRole('option', { name: 'Sign out' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.unrouteAll()
    await person.close()
  })

  it('stays while the list behind it is narrowed by what was typed there before, and keeps what was typed last', async () => {
    const person = await open('viewer')
    const { page } = person
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
    await person.close()
  })

  it('offers a viewer nothing that a viewer may not do', async () => {
    const person = await open('viewer')
    const { page } = person
    for (const text of ['doctor', 'pause', 'back up']) {
      await typed(page, text)
      await page.getByText('Nothing is called that.').waitFor()
      await leave(page)
    }
    await (await typed(page, 'open destination agency')).first().waitFor()
    await person.close()
  })

  it('brings a section of operations into sight by its address, and finds a setting by its variable', async () => {
    const person = await open('viewer')
    const { page } = person
    await person.goto('/operations#settings')
    const settings = page.getByRole('region', { name: 'Settings in force' })
    await settings.getByText('poll.active', { exact: true }).waitFor()
    await expect.poll(async () => ((await settings.boundingBox())?.y ?? 0) < 200).toBe(true)
    await page.getByLabel('Search settings').fill('POLL_ACTIVE')
    await expect.poll(() => settings.locator('dt').allInnerTexts()).toEqual(['poll.active POLL_ACTIVE'])
    await page.getByLabel('Search settings').fill('nothing of the kind')
    await settings.getByText('No setting fits').waitFor()
    await page.getByLabel('Search settings').fill('')
    await settings.getByText('poll.active', { exact: true }).waitFor()
    await page.getByRole('list', { name: 'Sections' }).getByRole('link', { name: 'Audit' }).click()
    await page.waitForURL(/\/operations#audit$/)
    await expect.poll(async () => ((await page.getByRole('region', { name: 'Audit' }).boundingBox())?.y ?? 999) < 200).toBe(true)
    await person.close()
  })
})
