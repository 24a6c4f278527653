import { expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { bucketOf } from '../../src/ops/status/lag-histogram.ts'
import { writeFigures } from '../../src/store/upkeep/figures.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { launchBrowser, visit } from './browser.ts'
import { openScene } from './scene.ts'

/** Records the texts that charts draw on their canvas. */
const RECORD_TEXTS = `window.drawn = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.drawn.push(text); return fillText.call(this, text, ...rest) }`
/** Number of colored pixels in the delay chart. */
const COLORED = `(() => {
  const figure = [...document.querySelectorAll('figure.chart')].find((each) => each.querySelector('strong').textContent === 'Delay')
  const canvas = figure.querySelector('canvas')
  if (canvas === null) return 0
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  let colored = 0
  for (let at = 0; at < data.length; at += 4) {
    const [least, , most] = [data[at], data[at + 1], data[at + 2]].sort((a, b) => a - b)
    if (data[at + 3] > 0 && most - least > 60) colored++
  }
  return colored
})()`

it('draws a single delay as a dot, and shows the peak and round ticks', async () => {
  const scene = await closedAtEnd(openScene(sqliteDatabase))
  const browser = await closedAtEnd(launchBrowser())
  const { person, page } = await visit({ browser, scene })
  await page.addInitScript(RECORD_TEXTS)
  await person.signIn('viewer')
  const minute = (back: number) => timeFromMs(Math.floor(Date.now() / 60_000 - back) * 60_000)
  const lags = async (figures: readonly (readonly [back: number, counts: Record<string, number>])[]) => {
    await scene.db.write('test', (tx) => tx.sql.deleteFrom('sync_figures').execute())
    const figureOf = (lag_mirror: Record<string, number>) => ({ lag_mirror, deliveries: { '204': 1 } })
    const rows = figures.map(([back, counts]) => ({ stepSeconds: 60, at: minute(back), figures: figureOf(counts) }))
    await writeFigures(scene.db, rows)
  }
  const delay = page.getByRole('figure').filter({ has: page.getByText('Delay', { exact: true }) })

  await lags([[30, { [bucketOf(2)]: 1 }]])
  await person.goto('/')
  await delay.getByText('to the mirror').waitFor()
  await expect.poll(() => page.evaluate(COLORED)).toBeGreaterThan(0)

  await lags([
    [31, { [bucketOf(120)]: 1_000 }],
    [30, { [bucketOf(45_000)]: 1 }],
  ])
  await person.goto('/')
  await delay.getByText(/^median 2 min to the mirror \(slowest 1%: 2 min, peak 1[0-9.]+ h\)/).waitFor()
  const drawn = async () => (await page.evaluate('drawn')) as string[]
  await expect.poll(drawn).toContain('6 h')
  expect((await drawn()).filter((text) => /\d\.\d+ h$/.test(text))).toEqual([])
})
