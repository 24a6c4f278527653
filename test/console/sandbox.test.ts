import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { startTarget } from '../ops/cli/push-rig.ts'
import { PATIENCE_MS } from '../tools/until.ts'
import { launchBrowser } from './browser.ts'

const HOSTILE = '<img src=x onerror="document.title=1"><b>bold</b>'

describe("the sandbox's page", () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(() => browser.close())

  /** Opens the page of a new sandbox. Whatever leaves its origin, breaks its policy or throws fails the test. */
  async function open(
    options: SandboxOptions,
    path = '/',
  ): Promise<{ page: Page; sandbox: Sandbox; says: (what: RegExp) => Promise<void> }> {
    const sandbox = await startSandbox({ submissions: 0, autoStart: false, ...options })
    const context = await browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(sandbox.origin) && !request.url().startsWith('data:')) faults.push(`left the origin: ${request.url()}`)
    })
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (/Content Security Policy|violates/i.test(message.text())) faults.push(message.text())
    })
    onTestFinished(async () => {
      await context.close()
      await sandbox.close()
      expect(faults).toEqual([])
    })
    await page.goto(`${sandbox.origin}${path}`)
    return { page, sandbox, says: (what) => page.getByRole('status').filter({ hasText: what }).waitFor() }
  }

  it('shows accounts, submissions and deliveries, with every text as text', async () => {
    const { page, sandbox } = await open({ accounts: [{ name: 'acme', brokerage: { id: 'b-1', name: HOSTILE } }], submissions: 2 })
    const submissionId = sandbox.addSubmission('acme', { facts: { insured_name: HOSTILE } })
    const row = page.getByRole('table', { name: 'Submissions' }).getByRole('row').filter({ hasText: submissionId })
    expect(await row.getByRole('cell').first().innerText()).toBe(HOSTILE)
    const account = page.getByRole('table', { name: 'Accounts' }).getByRole('row').nth(1)
    expect(await account.getByRole('cell').allInnerTexts()).toEqual([
      'acme',
      HOSTILE,
      expect.stringMatching(/^bac_/),
      sandbox.account('acme').users[1]?.email,
      'nowhere',
      '3',
    ])
    expect(await page.locator('img, b').count()).toBe(0)
    expect(await page.title()).toBe('Sandbox')
  })

  it('loses the next delivery or this one, sends one again, and lets time pass', async () => {
    const target = await startTarget()
    onTestFinished(() => target.close())
    const { page, sandbox, says } = await open({
      clockKind: 'step',
      retryScheduleMs: [60_000, 60_000],
      accounts: [{ name: 'default', target: target.url }],
    })
    const submissionId = sandbox.addSubmission('default')
    const outcomes = page.getByRole('table', { name: 'Deliveries' }).getByRole('row')
    await page.getByRole('button', { name: 'Lose the next delivery' }).click()
    await says(/The next delivery will be lost/)
    sandbox.addMessage('default', submissionId, { body_text: 'lost' })
    await outcomes.filter({ hasText: 'lost' }).waitFor()
    await page.getByRole('button', { name: /^Send again/ }).click()
    await says(/Sent again/)
    await outcomes.filter({ hasText: 'acknowledged' }).waitFor()

    sandbox.setTarget('default', 'http://127.0.0.1:9/nobody')
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

  it('approves and denies a device whose code is in its address, and says when there is none', async () => {
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
