import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { fireAlarm, openScene, type Scene } from './scene.ts'

let browser: Browser
let scene: Scene
let person: Person
let page: Page

beforeAll(async () => {
  browser = await launchBrowser()
  scene = await openScene(sqliteDatabase)
  person = await Person.open(browser, scene)
  page = person.page
  await person.signIn('operator')
})

afterAll(async () => {
  await person.close()
  await browser.close()
  await scene.close()
})

const at = timeFromMs(Date.now())

it('shows an alarm without an account while the address names an account', async () => {
  const about = { account: '', destination: '', severity: 'critical', state: 'firing', text: 'The disk is full.' } as const
  await fireAlarm(scene.db, { name: 'disk_space', ...about, since: at, last_at: at, resolved_at: null, notified_at: null })
  await person.goto('/operations?account=default')
  const alarms = page.getByRole('table', { name: 'Alarms', exact: true })
  await alarms.getByText('disk space').waitFor()
  await person.goto('/operations?account=other')
  await alarms.getByText('disk space').waitFor()
})

it.each([
  '/',
  '/submissions',
  '/documents',
  '/deliveries',
  '/deliveries?tab=rejected',
  '/destinations/clients',
  '/reconcile',
  '/operations',
])('shows and removes the account that the address names, though there is one account: %s', async (view) => {
  await person.goto(`${view}${view.includes('?') ? '&' : '?'}account=other`)
  const choice = page.getByRole('banner').getByRole('combobox', { name: 'Account' })
  await choice.waitFor()
  expect(await choice.inputValue()).toBe('other')
  await choice.selectOption('')
  await expect.poll(() => page.url()).not.toContain('account=')
})

it.each([
  ['/submissions?market=Harborline', /^Market: Harborline/],
  ['/submissions?status=Quoted', /^Status: Quoted/],
  ['/deliveries?until=2026-01-01T00:00:00Z', /^Until: 2026-01-01T00:00:00Z/],
  ['/deliveries?submission_id=0b6a1c1e-0000-4000-8000-000000000001', /^Submission: 0b6a1c1e-0000-4000-8000-000000000001/],
  ['/deliveries?tab=dead&submission_id=x1', /^Submission: x1/],
  ['/destinations/clients?state=dead&reason=answered%20422', /^Reason: answered 422/],
])('shows a filter that only links set, and removes it: %s', async (view, name) => {
  await person.goto(view)
  const filter = page.getByRole('button', { name })
  await filter.waitFor()
  expect(await person.violations()).toEqual([])
  await filter.click()
  await filter.waitFor({ state: 'detached' })
})

it.each([
  ['/submissions?stage=paused', 'Status', 'paused'],
  ['/deliveries?since=2026-01-01T00:00:00Z', 'Received', '2026-01-01T00:00:00Z'],
  ['/deliveries?kind=submission.new', 'Type', 'submission.new'],
  ['/deliveries?state=dead', 'State', 'dead'],
  ['/destinations/clients?state=skipped', 'State', 'skipped'],
])('shows the value of a choice that is not one of its own: %s', async (view, label, value) => {
  await person.goto(view)
  const choice = page.getByRole('main').getByRole('combobox', { name: label, exact: true })
  await choice.waitFor()
  expect(await choice.inputValue()).toBe(value)
})
