import { expect, it } from 'vitest'
import { type Stage, setStage } from './browser.ts'
import { fireDiskAlarm } from './scene.ts'

let { scene, person, page } = {} as Stage

setStage((stage) => ({ scene, person, page } = stage), { role: 'operator', prepare: () => {} })

it('shows an alarm without an account while the address names an account', async () => {
  await fireDiskAlarm(scene.db, 'critical', 'The disk is full.')
  await person.goto('/operations?account=default')
  const alarms = page.getByRole('table', { name: 'Alarms', exact: true })
  await alarms.getByText('disk nearly full').waitFor()
  await person.goto('/operations?account=other')
  await alarms.getByText('disk nearly full').waitFor()
})

const lists = ['/submissions', '/documents', '/deliveries', '/deliveries?tab=rejected', '/destinations/clients', '/reconcile']

it.each(['/', ...lists, '/operations'])('shows and clears the account of the address, even with a single account: %s', async (view) => {
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
])('shows and removes a filter that only links set: %s', async (view, name) => {
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
])('shows a filter value that is not in its list: %s', async (view, label, value) => {
  await person.goto(view)
  const choice = page.getByRole('main').getByRole('combobox', { name: label, exact: true })
  await choice.waitFor()
  expect(await choice.inputValue()).toBe(value)
})
