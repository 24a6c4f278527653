import { appendFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { CLIENT_ID, CLIENT_SECRET, Issuer } from '../ops/http/oidc/issuer.ts'
import { AdminRig } from '../ops/http/rig.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { launchBrowser } from './browser.ts'

it('signs in through a provider on another site, with a cookie that no other site can use', async () => {
  const rig = await closedAtEnd(AdminRig.open(sqliteDatabase, { OPS_TOKENS: '', OIDC_SECRET: CLIENT_SECRET }))
  const issuer = await closedAtEnd(Issuer.start(`${rig.origin}/api/v1/session/oidc/callback`))
  const oidc = `issuer: "${issuer.url}", client_id: ${CLIENT_ID}, client_secret: "\${OIDC_SECRET}", roles: { mirror-operators: operator }`
  appendFileSync(rig.env['CONFIG_FILE'] ?? '', `ops: { oidc: { ${oidc} } }\n`)
  rig.config = loadConfig(rig.env)
  const browser = await closedAtEnd(launchBrowser())
  const context = await browser.newContext()
  const page = await context.newPage()
  const signedIn = () => page.evaluate(async () => (await fetch('/api/v1/session')).status)
  await page.goto(`${rig.origin}/console/submissions?search=a`)
  expect(await signedIn()).toBe(401)
  await page.getByRole('button', { name: 'Sign in with' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/console/') && url.origin === rig.origin)
  await expect.poll(signedIn).toBe(200)
  await page.waitForURL(`${rig.origin}/console/submissions?search=a`)
  const cookies = (await context.cookies(rig.origin)).map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])
  expect(cookies).toEqual([['submission_mirror_session', true, 'Strict']])
  await page.reload()
  expect(await signedIn()).toBe(200)
})
