import { appendFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { CLIENT_ID, CLIENT_SECRET, Issuer } from '../ops/http/oidc/issuer.ts'
import { AdminRig } from '../ops/http/rig.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { launchBrowser } from './browser.ts'

it('a browser that comes back from a provider on another site is signed in, by a cookie that no other site can use', async () => {
  const rig = await AdminRig.open(sqliteDatabase, { OPS_TOKENS: '', OIDC_SECRET: CLIENT_SECRET })
  onTestFinished(() => rig.close())
  const issuer = await Issuer.start(`${rig.origin}/api/v1/session/oidc/callback`)
  onTestFinished(() => issuer.close())
  const oidc = `issuer: "${issuer.url}", client_id: ${CLIENT_ID}, client_secret: "\${OIDC_SECRET}", roles: { mirror-operators: operator }`
  appendFileSync(rig.env['CONFIG_FILE'] ?? '', `ops: { oidc: { ${oidc} } }\n`)
  rig.config = loadConfig(rig.env)
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const context = await browser.newContext()
  const page = await context.newPage()
  const signedIn = () => page.evaluate(async () => (await fetch('/api/v1/session')).status)
  await page.goto(`${rig.origin}/console/submissions?search=a`)
  expect(await signedIn()).toBe(401)
  await page.getByRole('button', { name: 'Sign in with' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/console/') && url.origin === rig.origin)
  await expect.poll(signedIn).toBe(200)
  // The page that was asked for.
  await page.waitForURL(`${rig.origin}/console/submissions?search=a`)
  const cookies = (await context.cookies(rig.origin)).map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])
  expect(cookies).toEqual([['submission_mirror_session', true, 'Strict']])
  // A reload by its own address stays signed in.
  await page.reload()
  expect(await signedIn()).toBe(200)
})
