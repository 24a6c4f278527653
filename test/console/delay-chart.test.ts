import { expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { bucketOf } from '../../src/ops/status/lag-histogram.ts'
import { writeFigures } from '../../src/store/upkeep/figures.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser, Person } from './browser.ts'
import { openScene } from './scene.ts'

/** Records what charts write, as a canvas says nothing of what is on it. */
const RECORD_TEXTS = `window.drawn = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.drawn.push(text); return fillText.call(this, text, ...rest) }`
/** How many pixels of the chart of delays have a colour, and not a shade of gray. */
const COLOURED = `(() => {
  const figure = [...document.querySelectorAll('figure.chart')].find((each) => each.querySelector('strong').textContent === 'Delay')
  const canvas = figure.querySelector('canvas')
  if (canvas === null) return 0
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  let coloured = 0
  for (let at = 0; at < data.length; at += 4) {
    const [least, , most] = [data[at], data[at + 1], data[at + 2]].sort((a, b) => a - b)
    if (data[at + 3] > 0 && most - least > 60) coloured++
  }
  return coloured
})()`

it('draws a single delay as a dot, and names the highest delay of a step next to round ticks', async () => {
  const scene = await openScene(sqliteDatabase)
  onTestFinished(() => scene.close())
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const person = await Person.open(browser, scene)
  const { page } = person
  await page.addInitScript(RECORD_TEXTS)
  await person.signIn('viewer')
  const minute = (back: number) => timeFromMs(Math.floor(Date.now() / 60_000 - back) * 60_000)
  const lags = (figures: readonly (readonly [back: number, counts: Record<string, number>])[]) =>
    scene.db
      .write('test', (tx) => tx.sql.deleteFrom('sync_figures').execute())
      .then(() =>
        writeFigures(
          scene.db,
          figures.map(([back, counts]) => ({
            stepSeconds: 60,
            at: minute(back),
            figures: { lag_mirror: counts, deliveries: { '204': 1 } },
          })),
        ),
      )
  const delay = page.getByRole('figure').filter({ has: page.getByText('Delay', { exact: true }) })

  await lags([[30, { [bucketOf(2)]: 1 }]])
  await person.goto('/')
  await delay.getByText('to the mirror').waitFor()
  await expect.poll(() => page.evaluate(COLOURED)).toBeGreaterThan(0)

  await lags([
    [31, { [bucketOf(120)]: 1_000 }],
    [30, { [bucketOf(45_000)]: 1 }],
  ])
  await person.goto('/')
  await delay.getByText(/^2 min to the mirror \(p99 2 min, peak 1[0-9.]+ h\)/).waitFor()
  const drawn = async () => (await page.evaluate('drawn')) as string[]
  await expect.poll(drawn).toContain('6 h')
  expect((await drawn()).filter((text) => /\d\.\d+ h$/.test(text))).toEqual([])
  await person.close()
})
