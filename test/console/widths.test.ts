import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { renderHtml } from '../../src/reconcile/report/html.ts'
import { unlistedHostText } from '../../src/upstream/http/elsewhere.ts'
import { report } from '../reconcile/report/sample.ts'
import { type Stage, setStage, visit } from './browser.ts'
import { failDocuments, playStory } from './scene.ts'

/** Lists that are wider than their container. */
const WIDER_THAN_ROOM = `[...document.querySelectorAll('.table-room')].filter((room) => room.scrollWidth > room.clientWidth)
  .map((room) => room.querySelector('table').getAttribute('aria-label'))`
/** Gives each submission of a list a very long name. */
const LONG_NAMES = `document.querySelectorAll('.table-room a[href*="/submissions/"]').forEach((link) => {
  (link.querySelector('bdi') ?? link).textContent = 'Consolidated Harbor Freight, Warehousing and Logistics Holdings of Greater Minneapolis, LLC'
})`
/** Names in the navigation that touch their neighbor. */
const TOUCHING = `[...document.querySelectorAll('nav.rail li span')].map((name) => [name.innerText, name.getBoundingClientRect()])
  .filter(([, { width }]) => width > 1)
  .filter(([, { right, top }], at, all) => right > innerWidth || (at + 1 < all.length && top === all[at + 1][1].top && right + 2 > all[at + 1][1].left))
  .map(([name]) => name)`
/** Number of lines of the longest advice. */
const LINES = `Math.max(...[...document.querySelectorAll('main td.sentence')].map((cell) => {
  const { paddingTop, paddingBottom, lineHeight } = getComputedStyle(cell)
  return Math.round((cell.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom)) / parseFloat(lineHeight))
}))`
let { browser, scene } = {} as Stage

setStage((stage) => ({ browser, scene } = stage), {
  prepare: async (opened) => {
    await playStory(opened)
    const { document_key: key } = await opened.db.read.sql.selectFrom('documents').select('document_key').executeTakeFirstOrThrow()
    await failDocuments(opened.db, { [key]: unlistedHostText('files.example') })
    await opened.api('/reconcile-runs', {})
  },
})

it.each([
  [390, 'dark'],
  [1024, 'light'],
  [1280, 'light'],
  [1440, 'dark'],
] as const)('fits %i px, %s: no list is cut off, no names touch, and advice is short', async (width, theme) => {
  const { person, page } = await visit({ browser, scene }, { width, theme })
  await person.signIn('admin')
  const [run] = (await scene.api<{ items: { run_id: string }[] }>('/reconcile-runs')).items
  const [delivery] = (await scene.api<{ items: { inbox_id: number }[] }>('/inbox?limit=1')).items
  const views = [
    ...['/', '/submissions', '/documents', '/documents?state=stored', '/deliveries', `/deliveries/${delivery?.inbox_id}`],
    ...['/deliveries?tab=rejected', '/destinations', '/destinations/agency', '/destinations/clients', '/reconcile'],
    ...[`/reconcile/${run?.run_id}`, '/operations', `/submissions/default/${scene.sandbox.submissionIds('default')[0]}`],
  ]
  for (const view of views) {
    await person.goto(view)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => page.locator('.loading').count()).toBe(0)
    expect(await page.evaluate(WIDER_THAN_ROOM), view).toEqual([])
    await page.evaluate(LONG_NAMES)
    expect(await page.evaluate(WIDER_THAN_ROOM), `${view} with long names`).toEqual([])
    expect(await page.evaluate(TOUCHING), view).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), view).toBeLessThanOrEqual(0)
    if (view === '/documents') expect(await page.evaluate(LINES), view).toBeLessThanOrEqual(width < 600 ? 6 : 4)
    // The heading is not broken within a word.
    if (view === '/destinations/agency')
      expect(await page.getByRole('heading', { level: 1 }).evaluate(({ clientHeight }) => clientHeight)).toBeLessThan(40)
  }
})

it('shows every column of the tables of the report on a phone', async () => {
  const page: Page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  const at = timeFromMs(0)
  const asked = { delivered: 12_345, has: 12_000, lacks: 300, differs: 40, undetermined: 5, repaired: 300, oldest_at: at, newest_at: at }
  await page.setContent(renderHtml(report({ destinations: [{ destination: 'agency-management-system', ...asked }] })))
  const beyond = await page.evaluate(
    `[...document.querySelectorAll('table td')].filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.outerHTML)`,
  )
  expect(beyond).toEqual([])
  await page.close()
})
