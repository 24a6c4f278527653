import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { startTarget } from '../ops/cli/push-rig.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { PATIENCE_MS } from '../tools/until.ts'
import { launchBrowser, watchFaults } from './browser.ts'

const HOSTILE = '<img src=x onerror="document.title=1"><b>bold</b>'

describe("the sandbox's page", () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(() => browser.close())

  /** Opens the page of a new sandbox. Requests to other origins, policy violations and errors fail the test. */
  async function open(options: SandboxOptions): Promise<{ page: Page; sandbox: Sandbox; says: (what: RegExp) => Promise<void> }> {
    const sandbox = await startSandbox({ submissions: 0, autoStart: false, ...options })
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    const faults = watchFaults(page, sandbox.origin)
    onTestFinished(async () => {
      await context.close()
      await sandbox.close()
      expect(faults).toEqual([])
    })
    await page.goto(`${sandbox.origin}/`)
    return { page, sandbox, says: (what) => page.getByRole('status').filter({ hasText: what }).waitFor() }
  }

  it('shows accounts, submissions and deliveries, with hostile texts as plain text', async () => {
    const { page, sandbox } = await open({ accounts: [{ name: 'acme', brokerage: { id: 'b-1', name: HOSTILE } }], submissions: 2 })
    const submissionId = sandbox.addSubmission('acme', { facts: { insured_name: HOSTILE } })
    const row = page.getByRole('table', { name: 'Submissions' }).getByRole('row').filter({ hasText: submissionId })
    expect(await row.getByRole('cell').first().innerText()).toBe(HOSTILE)
    const account = page.getByRole('table', { name: 'Accounts' }).getByRole('row').nth(1)
    const email = sandbox.account('acme').users[1]?.email
    const cells = ['acme', HOSTILE, expect.stringMatching(/^bac_/), email, 'nowhere', '3']
    expect(await account.getByRole('cell').allInnerTexts()).toEqual(cells)
    expect(await page.locator('img, b').count()).toBe(0)
    expect(await page.title()).toBe('Sandbox')
  })

  it('loses and resends deliveries, and advances the clock', async () => {
    const target = await closedAtEnd(startTarget())
    const accounts = [{ name: 'default', target: target.url }]
    const { page, sandbox, says } = await open({ clockKind: 'step', retryScheduleMs: [60_000, 60_000], accounts })
    const submissionId = sandbox.addSubmission('default')
    const outcomes = page.getByRole('table', { name: 'Deliveries' }).getByRole('row')
    await page.getByRole('button', { name: 'Lose the next delivery' }).click()
    await says(/The next delivery will be lost/)
    sandbox.addMessage('default', submissionId, { body_text: 'lost' })
    await outcomes.filter({ hasText: 'lost' }).waitFor()
    await page.getByRole('button', { name: /^Send again/ }).click()
    await says(/Sent again/)
    await outcomes.filter({ hasText: 'acknowledged' }).waitFor()

    sandbox.account('default').target = 'http://127.0.0.1:9/nobody'
    sandbox.addMessage('default', submissionId, { body_text: 'pending' })
    await outcomes.filter({ hasText: 'pending' }).waitFor()
    await page.getByLabel('Seconds').fill('60')
    await page.getByRole('button', { name: 'Let time pass' }).click()
    await says(/60 seconds have passed/)
    await outcomes.filter({ hasText: 'pending' }).getByRole('cell', { name: '2', exact: true }).waitFor()
    await page.getByRole('button', { name: /^Lose this one/ }).click()
    await outcomes.filter({ hasText: 'pending' }).waitFor({ state: 'detached' })
    expect(sandbox.deliveries.list().map(({ outcome }) => outcome)).toEqual(['acknowledged', 'lost'])
  })

  it('approves and denies a device by the code in its address, and reports an unknown code', async () => {
    const { page, sandbox, says } = await open({})
    const start = async () => {
      const body = new URLSearchParams({ client_id: 'cli' })
      const answer = await fetch(`${sandbox.baseUrl}/oauth/device_authorization`, { method: 'POST', body })
      return (await answer.json()) as { device_code: string; verification_uri_complete: string }
    }
    const poll = async (device_code: string) => {
      const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code, client_id: 'cli' }
      return (await (await fetch(`${sandbox.baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })).json()) as object
    }
    const [approved, denied] = [await start(), await start()]
    await page.goto(approved.verification_uri_complete)
    await page.getByLabel('As').selectOption(sandbox.account('default').users[1]?.email ?? '')
    await page.getByRole('button', { name: 'Approve' }).click()
    await says(/Approved/)
    expect(await poll(approved.device_code)).toHaveProperty('access_token')
    await page.goto(denied.verification_uri_complete)
    await page.getByLabel('As').locator('option').first().waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Deny' }).click()
    await says(/Denied/)
    expect(await poll(denied.device_code)).toMatchObject({ error: 'access_denied' })
    await page.getByRole('button', { name: 'Approve' }).click()
    await says(/no device waits under the code/)
  })

  it('plays the story step by step', async () => {
    const { page, sandbox, says } = await open({ submissions: 1 })
    await page.getByRole('button', { name: 'Next step of the story' }).click()
    await says(/Done/)
    expect(sandbox.stats().story.played).toBe(1)
  })
})
