import { expect, it } from 'vitest'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { type Stage, setStage, visit } from './browser.ts'

let { browser, scene } = {} as Stage

setStage((stage) => ({ browser, scene } = stage), { prepare: () => {} })

it('filters pages by account, in the address and from page to page', async () => {
  const { person, page } = await visit({ browser, scene })
  const choice = page.getByRole('banner').getByRole('combobox', { name: 'Account' })
  const go = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
  await person.signIn('operator', '/submissions')
  const table = page.getByRole('table', { name: 'Submissions' })
  await table.waitFor()
  expect(await choice.count()).toBe(0)

  await ensureAccounts(scene.db, ['other'])
  await page.reload()
  await choice.selectOption('other')
  await page.getByText('No submissions match these filters.').waitFor()
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
})
