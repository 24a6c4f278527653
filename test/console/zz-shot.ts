import { launchBrowser } from './browser.ts'

// usage: shot.ts consoleUrlWithToken outdir path:name:width ...
const [, , url = '', out = '', ...views] = process.argv
const browser = await launchBrowser()
const base = url.split('/#')[0]
for (const v of views) {
  const [path = '', name = '', width = '1280', theme = 'light'] = v.split('|')
  const ctx = await browser.newContext({ viewport: { width: Number(width), height: 860 }, colorScheme: theme as 'light', locale: 'en-US' })
  const page = await ctx.newPage()
  await page.goto(url)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.goto(base + path)
  await page.waitForTimeout(1800)
  await page.screenshot({ path: `${out}/${name}.png`, fullPage: false })
  await ctx.close()
}
await browser.close()
