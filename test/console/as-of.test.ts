import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { openPromise } from 'yauzl'
import { onSqlite } from '../tools/databases.ts'
import { type Stage, setStage, violationsOf } from './browser.ts'

interface Listed {
  readonly submission_id: string
  readonly insured_name: string
  readonly tracked_at: string
}

describe.each(onSqlite)('a submission at an earlier time in the console, on $name', (database) => {
  let { browser, scene, person, page } = {} as Stage

  setStage((stage) => ({ browser, scene, person, page } = stage), { database, role: 'admin' })

  it('is chosen by date, shown with its time, and exported until then', async () => {
    const { items } = await scene.api<{ items: Listed[] }>('/submissions?limit=1')
    const [{ submission_id: id, insured_name: name } = { submission_id: '', insured_name: '' }] = items
    await person.goto(`/submissions/default/${id}`)
    await expect.poll(() => person.heading()).toBe(name)
    await page.getByLabel('As of').fill('2001-01-01T00:00')
    await page.getByText('did not know submission').waitFor()
    await page.getByLabel('As of').fill('2099-01-01T00:00')
    await page.getByRole('status').filter({ hasText: 'As the mirror knew it at' }).waitFor()
    expect(new URL(page.url()).searchParams.get('at')).toMatch(/^209[89]-/)
    expect(await page.getByRole('region', { name: 'Pushes to destinations' }).count()).toBe(0)
    await page.getByRole('region', { name: 'Timeline' }).locator('.entry').first().waitFor()
    expect(await person.violations()).toEqual([])
    await page.getByText('More', { exact: true }).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export record' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(`record-${id}.zip`)
    const zip = await openPromise(await download.path())
    await page.getByRole('button', { name: 'Show current' }).click()
    await page.getByRole('region', { name: 'Pushes to destinations' }).waitFor()
    const record = await browser.newPage()
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName === 'index.html') await record.setContent(await text(await zip.openReadStreamPromise(entry)))
    }
    expect(await record.locator('section > h3').count()).toBeGreaterThan(10)
    for (const colorScheme of ['light', 'dark'] as const) {
      await record.emulateMedia({ colorScheme })
      expect(await violationsOf(record), colorScheme).toEqual([])
    }
    await record.close()
  })
})
