import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, type Scene } from './scene.ts'

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

it('narrows pages to an account, in the address, kept from page to page, where there are several', async () => {
  const person = await Person.open(browser, scene)
  const { page } = person
  const choice = page.getByRole('banner').getByRole('combobox', { name: 'Account' })
  const go = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
  await person.signIn('operator', '/submissions')
  const table = page.getByRole('table', { name: 'Submissions' })
  await table.waitFor()
  expect(await choice.count()).toBe(0)

  await ensureAccounts(scene.db, ['other'])
  await page.reload()
  await choice.selectOption('other')
  await page.getByText('No submission fits these filters.').waitFor()
  expect(new URL(page.url()).search).toBe('?account=other')

  await go('Operations')
  const accounts = page.getByRole('table', { name: 'Accounts' })
  await accounts.getByText('other', { exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('?account=other')
  expect(await accounts.getByText('default', { exact: true }).count()).toBe(0)
  expect(await choice.inputValue()).toBe('other')
  expect(await person.violations()).toEqual([])

  await choice.selectOption('default')
  await accounts.getByText('default', { exact: true }).waitFor()
  await go('Submissions')
  await table.waitFor()
  expect(new URL(page.url()).search).toBe('?account=default')

  await choice.selectOption('')
  await expect.poll(() => new URL(page.url()).search).toBe('')
  await go('Deliveries')
  await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await person.close()
})
