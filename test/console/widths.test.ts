import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { renderHtml } from '../../src/reconcile/report/html.ts'
import { hostNotNamed } from '../../src/upstream/http/elsewhere.ts'
import { report } from '../reconcile/report/sample.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene, playStory, type Scene } from './scene.ts'

/** Lists of which a part can only be seen by scrolling. */
const WIDER_THAN_ROOM = `[...document.querySelectorAll('.table-room')].filter((room) => room.scrollWidth > room.clientWidth)
  .map((room) => room.querySelector('table').getAttribute('aria-label'))`
/** Names in the navigation that touch the next one. */
const TOUCHING = `[...document.querySelectorAll('nav.rail li span')].map((name) => [name.innerText, name.getBoundingClientRect()])
  .filter(([, { width }]) => width > 1)
  .filter(([, { right, top }], at, all) => right > innerWidth || (at + 1 < all.length && top === all[at + 1][1].top && right + 2 > all[at + 1][1].left))
  .map(([name]) => name)`
const LINES = `(() => {
  const cell = document.querySelector('main td.sentence')
  return Math.round(cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight))
})()`
let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
})

describe('pages at the widths of a phone, a tablet and a laptop', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await openScene(sqliteDatabase)
    await playStory(scene)
    await scene.db.write('test', async (tx) => {
      const { document_key: key } = await tx.sql.selectFrom('documents').select('document_key').executeTakeFirstOrThrow()
      const failed = { stored_at: null, stored_path: null, sha256: null, error: hostNotNamed('files.example') }
      await tx.sql.updateTable('documents').set(failed).where('document_key', '=', key).execute()
      const outcome = { due_at: null, failures: 1, failing_since: timeFromMs(Date.now() - 90_000) }
      await tx.sql.updateTable('sync_documents').set(outcome).where('document_key', '=', key).execute()
    })
    await scene.api('/reconcile-runs', {})
  })

  afterAll(async () => {
    await scene.close()
  })

  it.each([
    [390, 'dark'],
    [1024, 'light'],
    [1440, 'dark'],
  ] as const)('fits %i px, %s: no list is cut, no names touch, and advice takes few lines', async (width, theme) => {
    const person = await Person.open(browser, scene, { width, theme })
    const { page } = person
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
      expect(await page.evaluate(TOUCHING), view).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), view).toBeLessThanOrEqual(0)
      if (view === '/documents') expect(await page.evaluate(LINES), view).toBeLessThanOrEqual(width < 600 ? 6 : 4)
      // A word of a heading stays whole.
      if (view === '/destinations/agency')
        expect(await page.getByRole('heading', { level: 1 }).evaluate(({ clientHeight }) => clientHeight)).toBeLessThan(40)
    }
    await person.close()
  })
})

it('shows every column of the tables of the report on a phone', async () => {
  const page: Page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  const at = timeFromMs(0)
  const asked = { delivered: 12_345, has: 12_000, lacks: 300, differs: 40, cannot_tell: 5, repaired: 300, oldest_at: at, newest_at: at }
  await page.setContent(renderHtml(report({ destinations: [{ destination: 'agency-management-system', ...asked }] })))
  const beyond = await page.evaluate(
    `[...document.querySelectorAll('table td')].filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.outerHTML)`,
  )
  expect(beyond).toEqual([])
  await page.close()
})
